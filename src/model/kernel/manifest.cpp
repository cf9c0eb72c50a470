// manifest.cpp: Parses and checks a manifest's text; tells which problems a manifest supports.
#include "model/kernel/manifest.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "core/text.hpp"
#include "model/kernel/manifest_check.hpp"
#include "model/kernel/runtime_sizes.hpp"
#include "model/kernel/vocabulary.hpp"

namespace fatune {
namespace {

/// Words of C++ that a macro would take from the template. Longer ones are no names of parameters.
constexpr std::string_view kKeywords[] = {
    "auto",      "bool",    "break",    "case",    "char",     "class",  "const",   "continue",
    "default",   "delete",  "do",       "double",  "else",     "enum",   "extern",  "false",
    "float",     "for",     "friend",   "goto",    "if",       "inline", "int",     "long",
    "namespace", "new",     "operator", "private", "public",   "return", "short",   "signed",
    "sizeof",    "static",  "struct",   "switch",  "template", "this",   "throw",   "true",
    "try",       "typedef", "typename", "union",   "unsigned", "using",  "virtual", "void",
    "volatile",  "while"};

/// Checks what the manifest supports against its operation; `root` is the manifest's JSON.
Status check_supports(const Json& root, Manifest& manifest) {
  const Checks check{manifest.where, fixed_names(*manifest.operation)};
  const Json supports = root.value("supports", Json::object());
  const DeclaredOperation* const declared = manifest.operation->declared();
  const bool typed = declared == nullptr || declared->typed;
  if (typed && manifest.dtypes.empty()) return check.error("supports.dtypes", "is missing");
  if (!typed && !manifest.dtypes.empty()) {
    return check.error("supports.dtypes",
                       "must be left out, as the reference of " + declared->name + " does");
  }
  if (!typed) manifest.dtypes = {Problem(CustomProblem()).dtype()};
  for (const char* field : {"masks", "lse", "value_dim", "quant"}) {
    if (declared != nullptr && supports.contains(field)) {
      return check.error(std::string("supports.") + field,
                         "is of attention, not of " + manifest.operation->name);
    }
  }
  if (declared == nullptr && manifest.masks.empty())
    return check.error("supports.masks", "is missing");
  const auto is_8_bit = [](Dtype dtype) { return size_of(dtype) == 1; };
  if (!manifest.takes_given() && !std::ranges::all_of(manifest.dtypes, is_8_bit)) {
    return check.error("supports.quant", "is fused, but 'dtypes' has others than e4m3 and e5m2");
  }
  return check_rules(manifest.problem_rules, check.known);
}

/// Checks the names and the expressions of 'defines'.
Status check_defines(const Manifest& manifest) {
  const Checks check{manifest.where, expression_names(manifest)};
  for (const DefineSpec& each : manifest.defines) {
    if (!matches(each.name, kTemplateName))
      return check.error("defines", fmt::format("has '{}', which is no macro's name", each.name));
    const std::string fault = macro_fault(each.name, *manifest.operation);
    if (!fault.empty()) return check.error("defines." + each.name, fault);
    FATUNE_TRY_STATUS(check.text("defines." + each.name, each.value));
  }
  return {};
}

/// Makes a constraint of each fault that only some problems show.
Status add_fault_rules(Manifest& manifest) {
  const Checks check{manifest.where, expression_names(manifest)};
  for (const Parameter& parameter : manifest.parameters) {
    if (parameter.faults.empty()) continue;
    if (manifest.role != Role::kFault)
      return check.error("parameters", "have values with an outcome, which is for role 'fault'");
    for (std::size_t i = 0; i < parameter.faults.size(); ++i) {
      Rule rule = parameter.faults[i].when;
      if (rule.require.empty()) continue;
      FATUNE_TRY_STATUS(check_expression(rule.require, rule.where, check.known));
      rule.require =
          fmt::format("{} != {} || ({})", parameter.name,
                      word_constant(parameter.name, parameter.values[i].word), rule.require);
      rule.why = "the fault shows nowhere else";
      manifest.constraints.push_back(std::move(rule));
    }
  }
  return {};
}

template <typename T>
std::string words_of(const std::vector<T>& values) {
  std::vector<std::string> words;
  for (const T& value : values) words.emplace_back(name(value));
  return join(words, ", ");
}

/// Returns the mask, change of scores or output that the kernel lacks; empty if there is none.
std::string missing_ability(const Manifest& manifest, const Attention& problem) {
  constexpr std::array<std::string_view, 5> kMissing = {
      "does not cap scores (--softcap)", "adds no bias to scores (--bias)",
      "takes no slopes from scores (--alibi)", "has no sink in its softmax (--sink)",
      "evaluates no expression of scores (--score)"};
  for (const MaskKind kind : kinds_of(problem.mask)) {
    if (std::ranges::count(manifest.masks, kind) == 0)
      return fmt::format("handles mask {}, not {}", words_of(manifest.masks), name(problem.mask));
  }
  for (const ScoreChange change : score_changes(problem)) {
    if (std::ranges::count(manifest.scores, change) == 0)
      return std::string(kMissing.at(static_cast<std::size_t>(change)));
  }
  const auto reads_tensors = [](const StageSpec& stage) {
    return std::ranges::count(stage.arguments, kAllTensors) > 0;
  };
  if (!problem.tensors.empty() && std::ranges::none_of(manifest.stages, reads_tensors))
    return "has no named tensors among its arguments (--tensor)";
  if (problem.value_dim && !manifest.value_dim) return "takes v of q's columns only (--value-dim)";
  return problem.lse && !manifest.lse ? "does not write the log-sum-exp (--lse)" : "";
}

}  // namespace

std::string macro_fault(const std::string& name, const Operation& operation) {
  if (is_expression_word(name)) return fmt::format("is '{}', a word of expressions", name);
  if (std::ranges::count(kKeywords, name) > 0)
    return fmt::format("is '{}', a keyword of C++", name);
  if (!is_reserved_name(name, operation)) return {};
  return fmt::format("is '{}', a name that {}", name,
                     operation.declared() == nullptr ? "fatune defines itself"
                                                     : "fatune or the operation's sizes define");
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

Status check_rules(const std::vector<Rule>& rules, std::span<const std::string> known) {
  for (const Rule& rule : rules)
    FATUNE_TRY_STATUS(check_expression(rule.require, rule.where, known));
  return {};
}

void place_rules(std::vector<Rule>& rules, std::string_view list) {
  list.remove_suffix(1);  // '
  for (std::size_t i = 0; i < rules.size(); ++i)
    rules[i].where = fmt::format("{}[{}].require'", list, i);
}

Error Checks::error(const std::string& path, const std::string& problem) const {
  return file_error(field_place(where, path) + " " + problem);
}

Status Checks::text(const std::string& path, const std::string& text) const {
  return check_expression(text, field_place(where, path), known);
}

Status Checks::texts(const std::string& path, const std::vector<std::string>& texts) const {
  for (std::size_t i = 0; i < texts.size(); ++i)
    FATUNE_TRY_STATUS(text(fmt::format("{}[{}]", path, i), texts[i]));
  return {};
}

Result<Manifest> parse_manifest(std::string_view text, const std::string& where,
                                std::span<const OperationRef> operations) {
  FATUNE_TRY(const Json json, parse_json(text, where));
  FATUNE_TRY(Manifest manifest, read_value<Manifest>(json, where));
  manifest.where = where;
  place_rules(manifest.problem_rules, field_place(where, "supports.rules"));
  place_rules(manifest.constraints, field_place(where, "constraints"));
  FATUNE_TRY_STATUS(set_operation(json, operations, manifest));
  for (std::size_t i = 0; i < manifest.stages.size(); ++i) {
    manifest.stages[i].counts_static =
        !manifest.operation->declared() || json["stages"][i].contains("static_shared_bytes");
  }
  FATUNE_TRY_STATUS(check_supports(json, manifest));
  FATUNE_TRY_STATUS(check_parameters(manifest));
  FATUNE_TRY_STATUS(check_terms(manifest));
  FATUNE_TRY_STATUS(check_choices(manifest));
  manifest.own_macros = json.contains("defines");
  FATUNE_TRY_STATUS(check_defines(manifest));
  FATUNE_TRY_STATUS(add_fault_rules(manifest));
  FATUNE_TRY_STATUS(check_rules(manifest.constraints, expression_names(manifest)));
  FATUNE_TRY_STATUS(check_launch(json, manifest));
  FATUNE_TRY_STATUS(check_runtime_sizes(manifest));
  return manifest;
}

const Fault* fault_of(const Manifest& manifest, const Config& config) {
  for (const Parameter& parameter : manifest.parameters) {
    if (parameter.faults.empty()) continue;
    if (const Value* value = config.find(parameter.name))
      return &parameter.faults.at(static_cast<std::size_t>(value->number));
  }
  return nullptr;
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
  return manifest.takes_given() ? Quant::kGiven : Quant::kFused;
}

Problem problem_for(const Manifest& manifest, const Problem& asked) {
  return manifest.quantizes() || !asked.is(is_fused) ? asked : unquantized(asked.as_attention());
}

bool is_for_type(const Manifest& manifest, const Problem& problem) {
  return (problem.is(is_fused) ? manifest.quantizes() : manifest.takes_given()) &&
         std::ranges::count(manifest.dtypes, problem.dtype()) > 0;
}

Result<std::string> unsupported_reason(const Manifest& manifest, const Problem& asked,
                                       const DeviceLimits& limits) {
  const Problem problem = problem_for(manifest, asked);
  if (manifest.operation->name != operation_name(problem)) {
    return fmt::format("computes {}, not {}", manifest.operation->name, operation_name(problem));
  }
  const auto takes = [&](Dtype dtype) { return std::ranges::count(manifest.dtypes, dtype) > 0; };
  if (asked != problem && takes(asked.dtype()) && !takes(problem.dtype()))
    return std::string("takes q, k and v that are quantized already (--quant given)");
  if (!takes(problem.dtype()))
    return fmt::format("handles {}, not {}", words_of(manifest.dtypes), name(problem.dtype()));
  if (!manifest.takes_given() && !problem.is(is_fused))
    return std::string("quantizes q, k and v itself (--quant fused or smooth_k)");
  if (problem.attention()) {
    std::string reason = missing_ability(manifest, problem.as_attention());
    if (!reason.empty()) return reason;
  }
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
    if (!holds)
      return fmt::format("needs {}{}{}", rule.require, rule.why.empty() ? "" : ": ", rule.why);
  }
  return std::string();
}

}  // namespace fatune
