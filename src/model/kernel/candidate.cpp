// candidate.cpp: Computes a candidate's identity and macros, and why the candidate cannot run.
#include "model/kernel/candidate.hpp"

#include <algorithm>
#include <numbers>

#include <fmt/format.h>

#include "core/hash.hpp"
#include "core/text.hpp"
#include "model/kernel/runtime_sizes.hpp"
#include "model/kernel/vocabulary.hpp"
#include "model/problem/rule.hpp"

namespace fatune {
namespace {

constexpr std::size_t kIdLength = 16;
constexpr double kLargestExact = 9007199254740992;  // 2^53

/// Nine significant digits reproduce every float exactly; a literal needs a point or an exponent
/// before its f.
std::string float_literal(float value) {
  std::string text = fmt::format("{:.9g}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text + "f";
}

std::string macro(std::string_view name, std::int64_t value) {
  return fmt::format("{}={}", name, value);
}

void add_rule(std::string_view name, const Attention& p, RuleKind kind,
              std::vector<std::string>& macros) {
  const std::string& text = kind == RuleKind::kMask ? p.mask.rule : p.score;
  if (text.empty()) return;
  macros.push_back(fmt::format("{}={}", name, PairRule::of(text, kind, p.tensors).code(p)));
}

/// Adds macros that list named tensors as kernel parameters, struct members and arguments.
void add_tensors(const std::vector<NamedTensor>& tensors, std::vector<std::string>& macros) {
  if (tensors.empty()) return;
  std::string parameters, members, values;
  for (const NamedTensor& each : tensors) {
    const std::string_view type = each.type == NamedTensor::Type::kI32 ? "i32" : "float";
    const std::string argument = argument_of(each);
    parameters += fmt::format(", const {}* __restrict__ {}", type, argument);
    members += fmt::format("const {}* {}; ", type, argument);
    values += argument + ",";
  }
  macros.push_back("TENSOR_PARAMETERS=" + parameters);
  macros.push_back("TENSOR_MEMBERS=" + members);
  macros.push_back("TENSOR_VALUES=" + values);
}

void add_attention(const Attention& p, std::vector<std::string>& macros) {
  if (is_fp8(p)) macros.push_back(macro("OUT_DTYPE", static_cast<std::int64_t>(out_dtype(p))));
  if (is_fused(p)) macros.push_back(macro("SMOOTH_K", smooths_k(p) ? 1 : 0));
  macros.push_back("SOFTMAX_SCALE=" + float_literal(softmax_scale(p)));
  if (p.softcap) macros.push_back("SOFTCAP=" + float_literal(static_cast<float>(*p.softcap)));
  add_rule("MASK_EXPRESSION", p, RuleKind::kMask, macros);
  add_rule("SCORE_EXPRESSION", p, RuleKind::kScore, macros);
  add_tensors(p.tensors, macros);
  macros.push_back("SOFTMAX_SCALE_LOG2E=" +
                   float_literal(static_cast<float>(scale_of(p) * std::numbers::log2e)));
}

/// Adds the terms that the template uses and that are whole numbers for this candidate. The
/// compiler reports any other term by name.
void add_terms(const Candidate& candidate, const DeviceLimits& limits,
               std::vector<std::string>& macros) {
  const Manifest& manifest = candidate.kernel->manifest;
  if (manifest.terms.empty()) return;
  const Scope scope = scope_of(manifest, candidate.config, candidate.problem, limits);
  const std::vector<std::string> runtime = runtime_names(manifest);
  for (const Term& term : manifest.terms) {
    if (!mentions(*candidate.kernel, term.name) || contains(runtime, term.name)) continue;
    const Result<Expression> expression = Expression::parse(term.expanded, term.name);
    if (!expression) continue;
    const Result<double> value = expression->evaluate(scope);
    if (value && std::nearbyint(*value) == *value && std::abs(*value) <= kLargestExact) {
      macros.push_back(macro(term.name, static_cast<std::int64_t>(*value)));
    }
  }
}

std::string value_text(const Value& value) {
  return value.kind == Value::Kind::kWord ? value.word : fmt::to_string(value.number);
}

/// Adds the macros that the manifest lists in place of those of parameters.
void add_defines(const Candidate& candidate, const DeviceLimits& limits,
                 std::vector<std::string>& macros) {
  const Manifest& manifest = candidate.kernel->manifest;
  const Scope scope = scope_of(manifest, candidate.config, candidate.problem, limits);
  for (const DefineSpec& each : manifest.defines) {
    const std::string text = expand_terms(manifest, each.value);
    if (const Value* own = candidate.config.find(text)) {
      macros.push_back(each.name + "=" + value_text(*own));
      continue;
    }
    const Result<Expression> expression = Expression::parse(text, each.name);
    const Result<double> value = expression ? expression->evaluate(scope) : expression.error();
    if (value) macros.push_back(fmt::format("{}={:.17g}", each.name, *value));
  }
}

}  // namespace

std::string candidate_id(const Candidate& candidate, std::string_view options) {
  Hasher hasher;
  hasher.add(candidate.kernel->manifest.name).add(candidate.kernel->text_hash);
  hasher.add(describe(candidate.config)).add(key(candidate.problem)).add(options);
  return hasher.hex().substr(0, kIdLength);
}

std::string candidate_key(const Candidate& candidate) {
  return fmt::format("{} {} {}", candidate.kernel->manifest.name, key(candidate.problem),
                     describe(candidate.config));
}

Scope scope_of(const Manifest& manifest, const Config& config, const Problem& problem,
               const DeviceLimits& limits) {
  Scope scope = config_free_scope(manifest, problem, limits);
  for (const auto& [name, value] : config.settings)
    scope.set(name, static_cast<double>(value.number));
  return scope;
}

std::string instance_of(const Candidate& candidate, const std::string& entry) {
  if (!candidate.kernel->manifest.own_macros) return entry;
  return with_names_replaced(entry, [&candidate](std::string_view name) {
    const Value* value = candidate.config.find(name);
    return value != nullptr ? value_text(*value) : std::string();
  });
}

std::vector<std::string> macros_of(const Candidate& candidate, const DeviceLimits& limits) {
  const Problem problem = problem_for(candidate.kernel->manifest, candidate.problem);
  std::vector<std::string> macros;
  const auto define = [&macros](std::string_view name, std::int64_t value) {
    macros.push_back(macro(name, value));
  };
  if (candidate.kernel->manifest.own_macros) {
    add_defines(candidate, limits, macros);
  } else {
    for (const auto& [name, value] : candidate.config.settings) define(name, value.number);
    for (const auto& [name, value] : word_constants(candidate.kernel->manifest))
      define(name, value);
  }
  const std::vector<std::string> runtime = runtime_sizes(*candidate.kernel->manifest.operation);
  for (const auto& [name, value] : named_sizes(problem)) {
    if (!contains(runtime, name)) define(name, value);
  }
  define("DTYPE", static_cast<std::int64_t>(problem.dtype()));
  define("DTYPE_BYTES", size_of(problem.dtype()));
  if (const Attention* attention = problem.attention()) add_attention(*attention, macros);
  define("SM_COUNT", limits.sm_count);
  add_terms(candidate, limits, macros);
  return macros;
}

}  // namespace fatune
