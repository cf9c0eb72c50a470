// declare.cpp: Makes a folder with manifests of a CUDA file and statements about it.
#include "model/declaring/declare.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/file.hpp"
#include "core/text.hpp"
#include "model/declaring/declaration.hpp"
#include "model/declaring/headers.hpp"
#include "model/kernel/entry.hpp"
#include "model/space/space.hpp"

namespace fatune {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMark = "//@";
constexpr const char* kLimitsOf = "sm_90a";  // device whose limits the default config obeys
/// Chosen: numpy.allclose's relative tolerance, and room for sums near zero.
constexpr double kUsualRelative = 1e-5, kUsualAbsolute = 1e-6;

/// Returns a manifest's name for a function.
std::string manifest_name(std::string_view entry) {
  std::string name = lower(function_of(entry));
  name.erase(0, name.rfind(':') + 1);
  return in_class(name.front(), "a-z") ? name : "kernel_" + name;
}

/// Makes the manifests of a declaration.
class Writer {
 public:
  Writer(const DeclaredSource& source, Declaration said, Faults& faults)
      : source_(source),
        said_(std::move(said)),
        faults_(faults),
        name_(manifest_name(said_.stages.front().entry)) {}

  Result<Declared> write() {
    Declared declared{{{source_.file.filename().string(), source_.text}}, name_, {}};
    const fs::path folder = source_.file.parent_path();
    add_headers(source_.text, {&folder, 1}, declared.files);
    toolkit_ = includes_toolkit(declared.files);
    const Json operation = this->operation();
    FATUNE_TRY_STATUS(faults_.status());
    FATUNE_TRY_STATUS(choose_first(operation));
    Json own = manifest(name_, said_.stages), reference;
    if (said_.reference) {
      own["operation"] = operation["name"];
      std::string name = manifest_name(said_.reference->entry);
      if (name == name_) name += "_reference";
      for (Json& each : said_.parameters) each["values"] = Json::array({each["default"]});
      reference = manifest(name, {&*said_.reference, 1});
      reference.erase("constraints");
    }
    Json& yardstick = said_.reference ? reference : own;
    yardstick["role"] = "reference";
    yardstick["operation"] = operation;
    for (const Json& each : {own, reference}) {
      if (!each.is_null())
        declared.files.push_back({each["name"].get<std::string>() + ".json", dump_pretty(each)});
    }
    for (const Json& problem : said_.problems) {
      std::string& sizes = declared.sizes.emplace_back();
      for (const auto& [name, value] : problem.items())
        sizes += fmt::format("{}{}={}", sizes.empty() ? "" : ",", name, dump(value));
    }
    return declared;
  }

 private:
  Json operation() {
    Json json = {
        {"name", name_ + "_of_file"}, {"sizes", Json::array()}, {"tensors", Json::array()}};
    for (const std::string& size : said_.sizes) {
      json["sizes"].push_back({{"name", size}});
      if (contains(said_.runtime, size)) json["sizes"].back()["runtime"] = true;
    }
    const fs::path folder = fs::absolute(source_.file).parent_path();
    bool rounds = false;
    for (const DeclaredArray& array : said_.arrays) {
      const ElementType& type = said_.types.at(array.name);
      if (!array.scratch) json["tensors"].push_back(tensor_json(array, type, folder, faults_));
      rounds = rounds || (array.output && type.name.starts_with('f'));
    }
    json["typical"] = said_.problems;
    if (!said_.edges.empty()) json["edges"] = said_.edges;
    if (said_.tolerance)
      json["tolerance"] = *said_.tolerance;
    else if (rounds)
      json["tolerance"] = {{"relative", kUsualRelative}, {"absolute", kUsualAbsolute}};
    return json;
  }

  Json manifest(const std::string& name, std::span<const DeclaredStage> stages) const {
    const std::string source = source_.file.filename().string();
    Json json = {{"schema", "fatune.kernel/1"}, {"name", name}, {"source", source}};
    json["parameters"] = said_.parameters;
    for (const Said& rule : source_.sayings.of("where"))
      json["constraints"].push_back({{"require", rule.text}});
    if (toolkit_) json["needs_toolkit_headers"] = true;
    for (const DeclaredArray& array : said_.arrays) {
      const ElementType& type = said_.types.at(array.name);
      const std::size_t bytes = type.bytes * static_cast<std::size_t>(type.count);
      if (array.scratch)
        json["scratch"].push_back(
            {{"name", array.name},
             {"bytes", fmt::format("{} * ({})", bytes, join(array.extents, ") * ("))}});
    }
    for (const Said& said : source_.sayings.of("constant"))
      json["constants"][said.name] = said.text;
    for (const DeclaredStage& stage : stages) {
      Json& item = json["stages"].emplace_back();
      item["entry"] = stage.entry;
      for (const std::string& extent : stage.grid) item["grid"].push_back(rounded_up(extent));
      item["block"] = stage.block;
      if (!stage.shared.empty()) item["shared_bytes"] = stage.shared;
      item["arguments"] = stage.arguments;
    }
    return json;
  }

  /// Sets the defaults to the first config that obeys the rules.
  Status choose_first(const Json& operation) {
    Json own = manifest(name_, said_.stages);
    own["role"] = "reference";
    own["operation"] = operation;
    for (Json& each : own["parameters"]) {
      const bool chosen =
          source_.sayings.find("default", each["name"].get<std::string>()) != nullptr;
      if (chosen) each["values"] = Json::array({each["default"]});
    }
    auto kernel = std::make_shared<Kernel>();
    FATUNE_TRY(kernel->manifest, parse_manifest(dump(own), source_.file.string()));
    FATUNE_TRY(const Arch arch, parse_arch(kLimitsOf));
    FATUNE_TRY(const DeviceLimits limits, typical_limits(arch));
    const DeclaredOperation& declared = *kernel->manifest.operation->declared();
    const Problem problem = declared.typical_problems(kernel->manifest.dtypes.front()).front();
    FATUNE_TRY(const Space space, Space::build(kernel, problem, limits));
    std::string why;
    for (const RuledOut& rule : space.ruled_out())
      why += fmt::format("; '{}' leaves out {} of {}", rule.rule, rule.points, space.raw_size());
    if (space.size() == 0)
      return file_error(source_.file.string() + ": no config obeys the rules" + why);
    const Config config = space.config(space.point(0));
    for (std::size_t i = 0; i < said_.parameters.size(); ++i)
      said_.parameters[i]["default"] = to_json(config.settings[i].value);
    return {};
  }

  const DeclaredSource& source_;
  Declaration said_;
  Faults& faults_;
  std::string name_;
  bool toolkit_ = false;  ///< headers of the toolkit are included
};

/// Reads the CUDA file with its own statements.
Result<DeclaredSource> read_source(const fs::path& file, Faults& faults) {
  DeclaredSource source;
  source.file = file;
  FATUNE_TRY(source.text, read_file(file));
  source.sayings.add(read_statements(source.text, file.string(), kMark, faults), faults);
  const std::size_t last = source.text.rfind(std::string("\n") + kMark);
  if (last == std::string::npos && !source.text.starts_with(kMark)) return source;
  const auto below = global_functions(
      std::string_view(source.text).substr(last == std::string::npos ? 0 : last + 1));
  if (!below.empty()) source.usual_kernel = below.front().name;
  return source;
}

Result<Declared> finish(DeclaredSource source, std::span<const Statement> typed, Faults& faults) {
  source.sayings.add(typed, faults);
  Declaration declaration = read_declaration(source, faults);
  FATUNE_TRY_STATUS(faults.status());
  return Writer(source, std::move(declaration), faults).write();
}

}  // namespace

Result<Declared> declare_source(const fs::path& file, std::span<const Statement> typed) {
  Faults faults;
  FATUNE_TRY(DeclaredSource source, read_source(file, faults));
  return finish(std::move(source), typed, faults);
}

Result<Declared> declare_text(const fs::path& file, std::span<const Statement> typed) {
  Faults faults;
  FATUNE_TRY(const std::string text, read_file(file));
  std::vector<Statement> statements = read_statements(text, file.string(), "", faults);
  const auto named = std::ranges::find(statements, "file",
                                       [](const Statement& each) { return each.word->word(); });
  if (named == statements.end())
    return file_error(file.string() + ": has no line 'file: kernel.cu', which names the CUDA file");
  FATUNE_TRY(DeclaredSource source, read_source(file.parent_path() / named->text, faults));
  statements.erase(named);
  source.sayings.add(statements, faults);
  return finish(std::move(source), typed, faults);
}

}  // namespace fatune
