// declared.cpp: Writes what another tuner's file specifies as manifests and sources.
#include <algorithm>
#include <system_error>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/file.hpp"
#include "core/text.hpp"
#include "model/declaring/headers.hpp"
#include "model/kernel/kernel.hpp"
#include "model/wisdom/scalar.hpp"
#include "search/specifications/specification.hpp"

namespace fatune {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSize = "tuned_case";    // the operation's one size, always 1
constexpr std::size_t kMostTried = 1'000'000;  // configs that are looked through for a default
/// Levels that NVRTC lacks, and standards before its headers' own, C++17.
constexpr const char* kWithoutEffect = "-O[0-3s]?|--?std=c[+][+](03|11|14)";
constexpr double kUsualTolerance = 1e-4;  // KTT's usual threshold, also relative

std::string manifest_name(const std::string& function) {
  std::string name = lower(trim(function.substr(0, function.find('<'))));
  std::ranges::replace_if(
      name, [](char c) { return !in_class(c, "a-z0-9_"); }, '_');
  return in_class(name.empty() ? '_' : name.front(), "a-z") ? name : "kernel_" + name;
}

bool is_valid(const Specification& of, std::span<const std::size_t> positions,
              std::span<const Expression> rules) {
  Scope scope;
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const Value& value = of.parameters[i].values[positions[i]];
    scope.set(of.parameters[i].name, static_cast<double>(value.number));
  }
  return std::ranges::all_of(rules, [&](const Expression& rule) {
    const Result<bool> holds = rule.test(scope);
    return holds && *holds;
  });
}

/// Sets the defaults to the first valid config, unless they are one.
Status settle_defaults(Specification& of) {
  std::vector<std::string> texts = of.rules;
  texts.push_back(
      fmt::format("1 <= ({}) * ({}) * ({}) <= 1024", of.block[0], of.block[1], of.block[2]));
  std::vector<Expression> rules;
  for (const std::string& text : texts) {
    FATUNE_TRY(Expression parsed, Expression::parse(text, of.where));
    rules.push_back(std::move(parsed));
  }
  std::vector<std::size_t> at;
  for (const Parameter& each : of.parameters) at.push_back(each.default_position);
  if (is_valid(of, at, rules)) return {};
  std::ranges::fill(at, std::size_t{0});
  for (std::size_t tried = 0; tried < kMostTried; ++tried) {
    if (is_valid(of, at, rules)) {
      for (std::size_t i = 0; i < at.size(); ++i) of.parameters[i].default_position = at[i];
      return {};
    }
    std::size_t axis = at.size();
    while (axis > 0 && ++at[axis - 1] == of.parameters[axis - 1].values.size()) at[--axis] = 0;
    if (axis == 0) break;
  }
  return file_error(
      fmt::format("{}: the rules leave none of the first {} configs", of.where, kMostTried));
}

/// Splits options into those of the manifest and include folders; drops those without an effect.
void settle_options(Specification& of) {
  std::vector<std::string> kept;
  for (std::size_t i = 0; i < of.options.size(); ++i) {
    std::string option(trim(of.options[i]));
    if ((option == "-I" || option == "-D") && i + 1 < of.options.size()) option += of.options[++i];
    if (option.starts_with("-I")) {
      const std::vector<fs::path> bases = of.folders;
      for (const fs::path& base : bases)
        of.folders.push_back(base / trim(std::string_view(option).substr(2)));
    } else if (!option.empty() && !matches(option, kWithoutEffect)) {
      kept.push_back(option);
    }
  }
  of.options = std::move(kept);
}

Json operation_of(const Specification& of, const std::string& name) {
  Json tensors = of.tensors;
  bool floats = false;
  for (Json& each : tensors) {
    each.erase("answer_of");
    floats = floats || (each.contains("output") && each["type"].get<std::string>()[0] == 'f');
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

Json kernel_of(const Specification& of, bool toolkit) {
  Json parameters = Json::array(), constraints = Json::array();
  for (const Parameter& parameter : of.parameters) {
    Json values = Json::array();
    for (const Value& value : parameter.values) values.push_back(to_json(value));
    parameters.push_back({{"name", parameter.name},
                          {"values", values},
                          {"default", values[parameter.default_position]}});
  }
  for (const std::string& rule : of.rules) constraints.push_back({{"require", rule}});
  Json json = {{"schema", "fatune.kernel/1"},    {"name", manifest_name(of.function)},
               {"source", "kernel.cu"},          {"parameters", parameters},
               {"constraints", constraints},     {"needs_toolkit_headers", toolkit},
               {"compiler_options", of.options}, {"constants", Json::object()}};
  for (const ConstantSpec& each : of.constants) json["constants"][each.symbol] = each.tensor;
  if (of.own_macros) json["defines"] = Json::object();
  for (const DefineSpec& each : of.defines) json["defines"][each.name] = each.value;
  json["stages"] = {{{"entry", of.function},
                     {"grid", of.grid},
                     {"block", of.block},
                     {"shared_bytes", of.shared_bytes},
                     {"arguments", of.arguments}}};
  return json;
}

/// Adds the reference, which copies the right elements to the outputs.
Result<Json> answer_of(Specification& of, const Json& operation) {
  std::string code = "// answer.cu: Copies the file's reference data, which are the answer.\n";
  Json stages = Json::array();
  for (const Json& each : of.tensors) {
    const auto is_its = [&](const Json& other) {
      return other.value("answer_of", "") == each["name"];
    };
    if (each.contains("output") && std::ranges::none_of(of.tensors, is_its))
      return file_error(fmt::format(
          "{}: output {} has no reference data, as others have; give it some, or none to all",
          of.where, each["name"].get<std::string>()));
    if (!each.contains("answer_of")) continue;
    const auto type = plain_type_named(each["type"].get<std::string>());
    if (!type) return file_error(of.where + ": reference data of half are not known");
    const std::string output = each["answer_of"], count = each["shape"][0];
    code += fmt::format(
        "extern \"C\" __global__ void copy_{0}({1}* to, const {1}* from) {{\n"
        "  const long long at = blockIdx.x * 256ll + threadIdx.x;\n"
        "  if (at < {2}ll) to[at] = from[at];\n}}\n",
        output, plain_facts(*type).c_type, count);
    stages.push_back({{"entry", "copy_" + output},
                      {"grid", {fmt::format("ceil_div({}, 256)", count), "1", "1"}},
                      {"block", {"256", "1", "1"}},
                      {"arguments", {output, each["name"]}}});
  }
  of.files.push_back({std::string(kAnswerSource), code});
  return Json({{"schema", "fatune.kernel/1"},
               {"name", "answer"},
               {"source", kAnswerSource},
               {"role", "reference"},
               {"operation", operation},
               {"stages", stages}});
}

}  // namespace

Status Specification::pass(const PlainFacts& type, double value, const Fields& fields,
                           const char* field) {
  const auto text = scalar_of(type, value);
  if (!text) return fields.error(field, text.error().message);
  arguments.push_back(*text);
  return {};
}

Json& Specification::add(std::string name, std::string_view type, std::size_t count) {
  const auto taken = [&] {
    return name == kSize || find_named(parameters, name) != nullptr ||
           std::ranges::any_of(tensors, [&](const Json& each) { return each["name"] == name; });
  };
  while (taken()) name += "_argument";
  tensors.push_back({{"name", name}, {"type", type}, {"shape", {fmt::to_string(count)}}});
  return tensors.back();
}

void Specification::set_data(Json& tensor, std::string bytes) {
  const std::string file = tensor["name"].get<std::string>() + ".bin";
  tensor.update({{"fill", "file"}, {"file", file}});
  files.push_back({file, std::move(bytes)});
}

Json& Specification::add_answer(const std::string& output) {
  const auto of =
      std::ranges::find_if(tensors, [&](const Json& each) { return each["name"] == output; });
  const Json copied = *of;
  Json& answer = add(output + "_answer", copied["type"].get<std::string>(), 1);
  answer.update({{"shape", copied["shape"]}, {"answer_of", output}});
  return answer;
}

Result<std::string> read_named(const std::string& name, const Fields& fields, const char* field,
                               std::span<const fs::path> folders) {
  std::error_code ignored;
  for (const fs::path& folder : folders) {
    if (fs::is_regular_file(folder / name, ignored)) return read_file(folder / name, kLargeFile);
  }
  return fields.error(field, "is '" + name + "', which is not there");
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
  FATUNE_TRY_STATUS(settle_defaults(of));
  std::vector<SourceFile> sources = of.headers;
  sources.push_back({"kernel.cu", of.source});
  add_headers(of.source, of.folders, sources);
  Json kernel = kernel_of(of, includes_toolkit(sources));
  std::ranges::move(sources, std::back_inserter(of.files));
  const Json operation = operation_of(of, kernel["name"].get<std::string>());
  kernel["operation"] = operation;
  if (std::ranges::any_of(of.tensors,
                          [](const Json& each) { return each.contains("answer_of"); })) {
    FATUNE_TRY(const Json answer, answer_of(of, operation));
    of.files.push_back({"answer.json", answer.dump(1) + "\n"});
    kernel["operation"] = operation["name"];
  } else {
    kernel["role"] = "reference";
  }
  of.files.push_back({"kernel.json", kernel.dump(1) + "\n"});
  if (const auto loaded = load_kernels(of.files); !loaded)
    return with_context(Error(loaded.error()), "declaring the kernel of " + of.where);
  return Declared{of.files, kernel["name"], {std::string(kSize) + "=1"}};
}

}  // namespace fatune
