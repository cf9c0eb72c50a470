// manifest.cpp: Parses and checks a manifest's text; tells which problems a manifest supports.
#include "model/kernel/manifest.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/text.hpp"
#include "model/kernel/manifest_parse.hpp"
#include "model/kernel/vocabulary.hpp"

namespace fatune {
namespace {

constexpr std::string_view kManifestSchema = "fatune.kernel/1";
const std::array<std::string, 4> kRoles = {"attention", "reference", "baseline",
                                           "fault"};  // indexed by Role
const std::array<std::string, 3> kQuants = {"given", "fused", "either"};

constexpr std::string_view kKeys =
    "$schema schema name summary source role tuned_by_default needs_toolkit_headers operation arch "
    "supports parameters terms constraints scratch tensor_maps stages";

Status parse_identity(const Fields& root, Manifest& manifest) {
  FATUNE_TRY(const std::string schema, root.text("schema"));
  if (schema != kManifestSchema) {
    return root.error("schema",
                      fmt::format("is '{}', but this program reads '{}'", schema, kManifestSchema));
  }
  FATUNE_TRY_STATUS(root.only(split(kKeys, ' ')));
  FATUNE_TRY(manifest.name, parse_identifier(root, "name"));
  FATUNE_TRY(manifest.summary, parse_words(root, "summary"));
  FATUNE_TRY(manifest.source, parse_words(root, "source"));
  FATUNE_TRY(const std::string role, parse_one_of(root, "role", kRoles[0].c_str(), kRoles));
  manifest.role = static_cast<Role>(std::ranges::find(kRoles, role) - kRoles.begin());
  FATUNE_TRY(manifest.tuned_by_default, root.boolean_or("tuned_by_default", false));
  if (manifest.tuned_by_default && manifest.role == Role::kBaseline) {
    return root.error("tuned_by_default", "is true, but a baseline is no candidate of sweeps");
  }
  FATUNE_TRY(manifest.needs_toolkit_headers, root.boolean_or("needs_toolkit_headers", false));
  return {};
}

Status parse_archs(const Fields& root, Manifest& manifest) {
  if (!root.has("arch")) return {};
  FATUNE_TRY(const Fields fields, root.object("arch"));
  FATUNE_TRY_STATUS(fields.only({"min", "only"}));
  FATUNE_TRY(const std::int64_t least, fields.integer_or("min", 0));
  if (fields.has("min") && (least < 50 || least > 999)) {
    return fields.error("min",
                        fmt::format("is {}, which is not a compute capability such as 80", least));
  }
  manifest.min_arch = static_cast<int>(least);
  FATUNE_TRY(const std::vector<std::string> only, fields.texts_or("only", {}));
  if (fields.has("only") && only.empty()) return fields.error("only", "must not be empty");
  for (std::size_t i = 0; i < only.size(); ++i) {
    const std::string key = fmt::format("only[{}]", i);
    auto arch = parse_arch(only[i]);
    if (!arch) return fields.error(key, "is wrong: " + arch.error().message);
    if (arch->number < manifest.min_arch) {
      return fields.error(key, fmt::format("is {}, which is below 'min', {}", only[i], least));
    }
    manifest.only_archs.push_back(*arch);
  }
  return {};
}

/// Reads a list of distinct names, each through `parse`.
template <typename T, typename Parse>
Result<std::vector<T>> parse_list(const Fields& fields, std::string_view key, Parse parse) {
  FATUNE_TRY(const std::vector<std::string> texts, fields.texts_or(key, {}));
  if (texts.empty()) return fields.error(key, "must name at least one");
  std::vector<T> values;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::string element = fmt::format("{}[{}]", key, i);
    const Result<T> value = parse(texts[i]);
    if (!value) return fields.error(element, "is wrong: " + value.error().message);
    if (std::ranges::count(values, *value) > 0)
      return fields.error(element, fmt::format("repeats {}", texts[i]));
    values.push_back(*value);
  }
  return values;
}

Status parse_supports(const Fields& root, Manifest& manifest) {
  FATUNE_TRY(const Fields fields, root.object("supports"));
  FATUNE_TRY_STATUS(fields.only({"dtypes", "quant", "masks", "lse", "rules"}));
  FATUNE_TRY(manifest.dtypes, parse_list<Dtype>(fields, "dtypes", parse_dtype));
  const bool declared = manifest.operation->declared() != nullptr;
  for (const char* field : {"masks", "lse", "quant"}) {
    if (declared && fields.has(field))
      return fields.error(field, "is of attention, not of " + manifest.operation->name);
  }
  if (!declared) {
    FATUNE_TRY(manifest.masks, parse_list<Mask>(fields, "masks", parse_mask));
  }
  FATUNE_TRY(manifest.lse, fields.boolean_or("lse", false));
  FATUNE_TRY(const std::string quant, parse_one_of(fields, "quant", kQuants[0].c_str(), kQuants));
  manifest.takes_given = quant != "fused";
  manifest.quantizes = quant != "given";
  const auto is_8_bit = [](Dtype dtype) { return size_of(dtype) == 1; };
  if (!manifest.takes_given && !std::ranges::all_of(manifest.dtypes, is_8_bit)) {
    return fields.error("quant", "is fused, but 'dtypes' has others than e4m3 and e5m2");
  }
  FATUNE_TRY(manifest.problem_rules, parse_rules(fields, "rules"));
  return check_rules(manifest.problem_rules, fixed_names(*manifest.operation));
}

template <typename T>
std::string words_of(const std::vector<T>& values) {
  std::vector<std::string> words;
  for (const T& value : values) words.emplace_back(name(value));
  return join(words, ", ");
}

}  // namespace

std::string place(const Fields& fields, std::string_view key) {
  return std::string(trim(fields.error(key, "").message));
}

Result<std::string> parse_words(const Fields& fields, std::string_view key) {
  FATUNE_TRY(std::string text, fields.text(key));
  if (trim(text).empty()) return fields.error(key, "must not be empty");
  return text;
}

Result<std::string> parse_one_of(const Fields& fields, std::string_view key, const char* fallback,
                                 std::span<const std::string> names) {
  if (fallback != nullptr && !fields.has(key)) return std::string(fallback);
  FATUNE_TRY(std::string text, fields.text(key));
  if (std::ranges::count(names, text) > 0) return text;
  return fields.error(key, fmt::format("is '{}', which is not one of {}", text, join(names, ", ")));
}

Result<std::string> parse_identifier(const Fields& fields, std::string_view key) {
  FATUNE_TRY(std::string text, fields.text(key));
  if (matches(text, "[a-z][a-z0-9_]*")) return text;
  return fields.error(
      key, fmt::format("is '{}'; a name has lower-case letters, digits and _ only", text));
}

Result<std::string> parse_macro_name(const Fields& fields, const Operation& operation) {
  FATUNE_TRY(std::string name, fields.text("name"));
  if (!matches(name, "[A-Z][A-Z0-9_]*")) {
    return fields.error("name",
                        fmt::format("is '{}', which is not a macro's name such as BLOCK_M", name));
  }
  if (is_reserved_name(name, operation)) {
    return fields.error("name", fmt::format("is '{}', a name that {}", name,
                                            operation.declared() == nullptr
                                                ? "fatune defines itself"
                                                : "fatune or the operation's sizes define"));
  }
  return name;
}

Status check_expression(const std::string& text, const std::string& where,
                        std::span<const std::string> known) {
  FATUNE_TRY(const Expression expression, Expression::parse(text, where));
  for (const std::string& variable : expression.variables()) {
    if (std::ranges::count(known, variable) > 0) continue;
    return file_error(fmt::format("{}: '{}' uses the unknown name '{}'{}", where, text, variable,
                                  nearest_hint(variable, known, " (did you mean '{}'?)")));
  }
  return {};
}

Result<std::vector<Rule>> parse_rules(const Fields& fields, std::string_view key) {
  FATUNE_TRY(const std::vector<Fields> list, fields.objects_or_empty(key));
  std::vector<Rule> rules;
  for (const Fields& item : list) {
    FATUNE_TRY_STATUS(item.only({"require", "why", "prunes"}));
    Rule& rule = rules.emplace_back();
    FATUNE_TRY(rule.require, item.text("require"));
    FATUNE_TRY(rule.why, parse_words(item, "why"));
    FATUNE_TRY(rule.prunes, item.boolean_or("prunes", false));
    rule.where = place(item, "require");
  }
  return rules;
}

Status check_rules(const std::vector<Rule>& rules, std::span<const std::string> known) {
  for (const Rule& rule : rules)
    FATUNE_TRY_STATUS(check_expression(rule.require, rule.where, known));
  return {};
}

Result<Manifest> parse_manifest(std::string_view text, const std::string& where,
                                std::span<const OperationRef> operations) {
  FATUNE_TRY(const Json json, parse_json(text, where));
  if (!json.is_object()) {
    return file_error(
        fmt::format("{}: a manifest must be an object, but is {}", where, json.type_name()));
  }
  const Fields root(json, where);
  Manifest manifest;
  manifest.where = where;
  FATUNE_TRY_STATUS(parse_identity(root, manifest));
  FATUNE_TRY_STATUS(parse_operation_field(root, operations, manifest));
  FATUNE_TRY_STATUS(parse_archs(root, manifest));
  FATUNE_TRY_STATUS(parse_supports(root, manifest));
  FATUNE_TRY(manifest.parameters, parse_parameters(root, *manifest.operation));
  FATUNE_TRY_STATUS(parse_terms(root, manifest));
  FATUNE_TRY_STATUS(check_choices(manifest));
  FATUNE_TRY(manifest.constraints, parse_rules(root, "constraints"));
  FATUNE_TRY_STATUS(add_fault_rules(root, manifest));
  FATUNE_TRY_STATUS(check_rules(manifest.constraints, expression_names(manifest)));
  FATUNE_TRY_STATUS(parse_launch(root, manifest));
  return manifest;
}

Config config_at(const Manifest& manifest, std::span<const std::uint16_t> positions) {
  FATUNE_CHECK(positions.size() == manifest.parameters.size(), "one position for each parameter");
  Config config;
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const Parameter& parameter = manifest.parameters[i];
    config.settings.push_back({parameter.name, parameter.values.at(positions[i])});
  }
  return config;
}

std::vector<std::uint16_t> default_positions(const Manifest& manifest) {
  std::vector<std::uint16_t> positions;
  for (const Parameter& parameter : manifest.parameters)
    positions.push_back(static_cast<std::uint16_t>(parameter.default_position));
  return positions;
}

Config default_config(const Manifest& manifest) {
  return config_at(manifest, default_positions(manifest));
}

Quant usual_quant(const Manifest& manifest) {
  return manifest.takes_given ? Quant::kGiven : Quant::kFused;
}

Problem problem_for(const Manifest& manifest, const Problem& problem) {
  return manifest.quantizes ? problem : in_given_types(problem);
}

bool is_for_type(const Manifest& manifest, const Problem& problem) {
  return (is_fused(problem) ? manifest.quantizes : manifest.takes_given) &&
         std::ranges::count(manifest.dtypes, problem.dtype) > 0;
}

Result<std::string> unsupported_reason(const Manifest& manifest, const Problem& asked,
                                       const DeviceLimits& limits) {
  const Problem problem = problem_for(manifest, asked);
  if (manifest.operation->name != operation_name(problem)) {
    return fmt::format("computes {}, not {}", manifest.operation->name, operation_name(problem));
  }
  const auto takes = [&](Dtype dtype) { return std::ranges::count(manifest.dtypes, dtype) > 0; };
  if (is_fused(asked) && !is_fused(problem) && takes(asked.dtype) && !takes(problem.dtype))
    return std::string("takes q, k and v that are quantized already (--quant given)");
  if (!takes(problem.dtype))
    return fmt::format("handles {}, not {}", words_of(manifest.dtypes), name(problem.dtype));
  if (!manifest.takes_given && !is_fused(problem))
    return std::string("quantizes q, k and v itself (--quant fused or smooth_k)");
  if (!problem.custom && std::ranges::count(manifest.masks, problem.mask) == 0)
    return fmt::format("handles mask {}, not {}", words_of(manifest.masks), name(problem.mask));
  if (problem.lse && !manifest.lse) return std::string("does not write the log-sum-exp (--lse)");
  if (limits.arch.number < manifest.min_arch) {
    return fmt::format("needs sm_{} or newer, not {}", manifest.min_arch, name(limits.arch));
  }
  const auto& only = manifest.only_archs;
  if (!only.empty() && std::ranges::count(only, limits.arch) == 0) {
    return fmt::format("compiles for {} only, not for {}", words_of(only), name(limits.arch));
  }
  const Scope scope = fixed_scope(problem, limits);
  for (const Rule& rule : manifest.problem_rules) {
    FATUNE_TRY(const Expression expression, Expression::parse(rule.require, rule.where));
    FATUNE_TRY(const bool holds, expression.test(scope));
    if (!holds) return fmt::format("needs {}: {}", rule.require, rule.why);
  }
  return std::string();
}

}  // namespace fatune
