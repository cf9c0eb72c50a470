// declared.cpp: Writes what another tuner's file specifies as manifests and sources.
#include <algorithm>
#include <cctype>
#include <system_error>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/file.hpp"
#include "core/text.hpp"
#include "model/kernel/includes.hpp"
#include "model/kernel/kernel.hpp"
#include "model/problem/plain_type.hpp"
#include "search/specifications/specification.hpp"

namespace fatune {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSize = "tuned_case";    // the operation's one size, always 1
constexpr std::size_t kMostTried = 1'000'000;  // configs that are looked through for a default
constexpr double kMostThreads = 1024;
constexpr double kUsualTolerance = 1e-4;  // KTT's usual threshold, also relative

std::string manifest_name(std::string_view function) {
  function = function.substr(0, function.find('<'));
  std::string name = lower(file_name(trim(function)));
  std::ranges::replace_if(
      name, [](char c) { return !in_class(c, "a-z0-9_"); }, '_');
  return in_class(name.empty() ? '_' : name.front(), "a-z") ? name : "kernel_" + name;
}

/// Finds a config that the rules and a block's threads allow.
class DefaultFinder {
 public:
  explicit DefaultFinder(const Specification& of) : of_(of) {}

  /// Returns the file's own default if it is valid, else the first valid config; by position.
  Result<std::vector<std::size_t>> find() {
    for (const std::string& rule : of_.rules) {
      FATUNE_TRY(Expression parsed, Expression::parse(rule, of_.where));
      rules_.push_back(std::move(parsed));
    }
    for (const std::string& extent : of_.block) {
      FATUNE_TRY(Expression parsed, Expression::parse(extent, of_.where + ": threads of a block"));
      block_.push_back(std::move(parsed));
    }
    std::vector<std::size_t> at;
    for (const Parameter& each : of_.parameters) at.push_back(each.default_position);
    if (valid(at)) return at;
    std::ranges::fill(at, std::size_t{0});
    for (std::size_t tried = 0; tried < kMostTried; ++tried) {
      if (valid(at)) return at;
      std::size_t axis = at.size();
      while (axis > 0 && ++at[axis - 1] == of_.parameters[axis - 1].values.size()) at[--axis] = 0;
      if (axis == 0) break;
    }
    return file_error(
        fmt::format("{}: the rules leave none of the first {} configs", of_.where, kMostTried));
  }

 private:
  bool valid(const std::vector<std::size_t>& at) const {
    Scope scope;
    for (std::size_t i = 0; i < at.size(); ++i) {
      const Parameter& parameter = of_.parameters[i];
      scope.set(parameter.name, static_cast<double>(parameter.values[at[i]].number));
    }
    double threads = 1;
    for (const Expression& extent : block_) {
      const Result<double> count = extent.evaluate(scope);
      threads *= count ? *count : 0;
    }
    return threads >= 1 && threads <= kMostThreads &&
           std::ranges::all_of(rules_, [&](const Expression& rule) {
             const Result<bool> holds = rule.test(scope);
             return holds && *holds;
           });
  }

  const Specification& of_;
  std::vector<Expression> rules_, block_;
};

Json tensor_json(const SpecifiedTensor& tensor) {
  Json json = tensor.fill_fields.empty() ? Json::object() : Json::parse(tensor.fill_fields);
  json["name"] = tensor.name;
  json["type"] = tensor.type;
  json["shape"] = {fmt::to_string(tensor.elements)};
  if (tensor.output) json["output"] = true;
  return json;
}

Json operation_json(const Specification& of, const std::string& name) {
  Json tensors = Json::array();
  bool floats = false;
  for (const SpecifiedTensor& each : of.tensors) {
    tensors.push_back(tensor_json(each));
    floats = floats || (each.output && each.type.front() == 'f');
  }
  Json operation = {{"name", name + "_of_a_file"},
                    {"sizes", {{{"name", kSize}}}},
                    {"typical", {{{kSize, 1}}}},
                    {"tensors", tensors}};
  const bool usual = of.absolute == 0 && of.relative == 0;
  if (floats)
    operation["tolerance"] = {{"absolute", usual ? kUsualTolerance : of.absolute},
                              {"relative", usual ? kUsualTolerance : of.relative}};
  return operation;
}

/// All outputs have reference data, where one has.
Status check_answers(const Specification& of) {
  for (const SpecifiedTensor& each : of.tensors) {
    const auto is_answer = [&](const SpecifiedTensor& other) {
      return other.answer_of == each.name;
    };
    if (!each.output || std::ranges::any_of(of.tensors, is_answer)) continue;
    return file_error(fmt::format(
        "{}: output {} has no reference data, as others have; give it some, or none to all",
        of.where, each.name));
  }
  return {};
}

/// Adds the reference, which copies the right elements to the outputs.
Status add_answers(const Specification& of, const Json& operation, std::vector<SourceFile>& files) {
  std::string code = "// answer.cu: Copies the file's reference data, which are the answer.\n";
  Json stages = Json::array();
  for (const SpecifiedTensor& each : of.tensors) {
    if (each.answer_of.empty()) continue;
    const auto type = plain_type_named(each.type);
    if (!type) return file_error(of.where + ": a reference of " + each.type + " is not known");
    code += fmt::format(
        "extern \"C\" __global__ void copy_{0}({1}* to, const {1}* from) {{\n"
        "  const long long at = blockIdx.x * 256ll + threadIdx.x;\n"
        "  if (at < {2}ll) to[at] = from[at];\n}}\n",
        each.answer_of, plain_facts(*type).c_type, each.elements);
    stages.push_back({{"entry", "copy_" + each.answer_of},
                      {"grid", {fmt::format("ceil_div({}, 256)", each.elements), "1", "1"}},
                      {"block", {"256", "1", "1"}},
                      {"arguments", {each.answer_of, each.name}}});
  }
  const Json manifest = {{"schema", "fatune.kernel/1"}, {"name", "answer"},
                         {"source", kAnswerSource},     {"role", "reference"},
                         {"operation", operation},      {"stages", stages}};
  files.push_back({std::string(kAnswerSource), code});
  files.push_back({"answer.json", manifest.dump(1) + "\n"});
  return {};
}

/// Adds the headers that a text includes in quotes, direct and indirect.
void add_headers(const std::string& text, const std::vector<fs::path>& folders,
                 std::vector<SourceFile>& files) {
  for (const Include& include : includes_of(text)) {
    const auto same = [&](const SourceFile& file) { return file.path == include.name; };
    if (!include.quoted || std::ranges::any_of(files, same)) continue;
    // A header that is nowhere is told when the kernel is loaded.
    const auto header = read_named(include.name, folders, Error{ErrorKind::kFile, {}});
    if (!header) continue;
    files.push_back({include.name, *header});
    add_headers(*header, folders, files);
  }
}

/// Splits options into those of the manifest and include folders; drops those without an effect.
void settle_options(Specification& of) {
  std::vector<std::string> kept;
  for (std::size_t i = 0; i < of.options.size(); ++i) {
    std::string option(trim(of.options[i]));
    const bool folder = option.starts_with("-I") || option.starts_with("--include-path");
    if ((option == "-I" || option == "-D") && i + 1 < of.options.size()) option += of.options[++i];
    if (folder) {
      const std::size_t from = option.starts_with("-I") ? 2 : option.find('=') + 1;
      const fs::path named(std::string(trim(std::string_view(option).substr(from))));
      const std::size_t known = of.folders.size();
      for (std::size_t k = 0; k < known; ++k) of.folders.push_back(of.folders[k] / named);
    } else if (!option.empty() && !matches(option, "-O[0-3s]?")) {
      kept.push_back(option);
    }
  }
  of.options = std::move(kept);
}

Json kernel_json(const Specification& of, const std::vector<std::size_t>& defaults,
                 bool toolkit_headers) {
  Json parameters = Json::array(), constraints = Json::array();
  for (std::size_t i = 0; i < of.parameters.size(); ++i) {
    const Parameter& parameter = of.parameters[i];
    Json values = Json::array();
    for (const Value& value : parameter.values) values.push_back(to_json(value));
    parameters.push_back(
        {{"name", parameter.name}, {"values", values}, {"default", values[defaults[i]]}});
  }
  for (const std::string& rule : of.rules) constraints.push_back({{"require", rule}});
  Json json = {{"schema", "fatune.kernel/1"},
               {"name", manifest_name(of.function)},
               {"source", "kernel.cu"},
               {"parameters", parameters},
               {"constraints", constraints},
               {"needs_toolkit_headers", toolkit_headers},
               {"compiler_options", of.options},
               {"constants", Json::object()},
               {"stages",
                {{{"entry", of.function},
                  {"grid", of.grid},
                  {"block", of.block},
                  {"shared_bytes", of.shared_bytes},
                  {"arguments", of.arguments}}}}};
  for (const ConstantSpec& each : of.constants) json["constants"][each.symbol] = each.tensor;
  if (!of.own_macros) return json;
  json["defines"] = Json::object();
  for (const DefineSpec& each : of.defines) json["defines"][each.name] = each.value;
  return json;
}

}  // namespace

SpecifiedTensor& Specification::add(SpecifiedTensor tensor) {
  const auto taken = [&](const std::string& name) {
    return name == kSize || find_named(parameters, name) != nullptr ||
           find_named(tensors, name) != nullptr;
  };
  while (taken(tensor.name)) tensor.name += "_argument";
  return tensors.emplace_back(std::move(tensor));
}

Result<std::string> read_named(const std::string& name, std::span<const fs::path> folders,
                               const Error& missing) {
  std::error_code ignored;
  for (const fs::path& folder : folders) {
    if (fs::is_regular_file(folder / name, ignored)) return read_file(folder / name, kLargeFile);
  }
  return missing;
}

Result<Declared> declared(Specification of) {
  const bool has_words = std::ranges::any_of(of.parameters, [](const Parameter& parameter) {
    return parameter.values.front().kind == Value::Kind::kWord;
  });
  if (has_words && !of.own_macros) {
    of.own_macros = true;  // a word stands as it is in the source
    for (const Parameter& each : of.parameters) of.defines.push_back({each.name, each.name});
  }
  settle_options(of);
  FATUNE_TRY(const std::vector<std::size_t> defaults, DefaultFinder(of).find());
  Declared result;
  result.kernel = manifest_name(of.function);
  result.sizes = {std::string(kSize) + "=1"};
  result.files = std::move(of.files);
  add_headers(of.source, of.folders, result.files);
  const auto of_toolkit = [](const SourceFile& file) {
    return std::ranges::any_of(includes_of(file.text),
                               [](const Include& include) { return !include.quoted; });
  };
  result.files.push_back({"kernel.cu", of.source});
  Json kernel = kernel_json(of, defaults, std::ranges::any_of(result.files, of_toolkit));
  Json operation = operation_json(of, result.kernel);
  const bool answered = std::ranges::any_of(
      of.tensors, [](const SpecifiedTensor& each) { return !each.answer_of.empty(); });
  if (answered) {
    FATUNE_TRY_STATUS(check_answers(of));
    FATUNE_TRY_STATUS(add_answers(of, operation, result.files));
    kernel["operation"] = operation["name"];
  } else {
    kernel["role"] = "reference";
    kernel["operation"] = std::move(operation);
  }
  result.files.push_back({"kernel.json", kernel.dump(1) + "\n"});
  const auto loaded = load_kernels(result.files);
  if (!loaded) return with_context(Error(loaded.error()), "declaring the kernel of " + of.where);
  return result;
}

}  // namespace fatune
