// vocabulary.cpp: Gives names of manifests and templates their values, and expands terms.
#include "model/kernel/vocabulary.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>

#include "core/text.hpp"
#include "model/kernel/manifest_check.hpp"
#include "model/kernel/runtime_sizes.hpp"

namespace fatune {
namespace {

constexpr std::array kDtypes = {Dtype::kF16, Dtype::kBf16, Dtype::kE4m3, Dtype::kE5m2};

void set_sizes(const Problem& problem, Scope& scope) {
  for (const NamedSize& size : named_sizes(problem))
    scope.set(size.name, static_cast<double>(size.value));
}

void set_types(const Problem& problem, Scope& scope) {
  scope.set("DTYPE", static_cast<double>(problem.dtype()));
  scope.set("DTYPE_BYTES", size_of(problem.dtype()));
  if (const Attention* attention = problem.attention()) {
    scope.set("SOFTMAX_SCALE", static_cast<double>(softmax_scale(*attention)));
    scope.set("FUSED", is_fused(*attention) ? 1 : 0);
    scope.set("SMOOTH_K", smooths_k(*attention) ? 1 : 0);
  }
  for (const Dtype dtype : kDtypes)
    scope.set(word_constant("DTYPE", name(dtype)), static_cast<double>(dtype));
}

}  // namespace

std::string word_constant(std::string_view parameter, std::string_view word) {
  std::string text(parameter);
  text += '_';
  for (const char c : word)
    text += in_class(c, "a-zA-Z0-9") ? static_cast<char>(std::toupper(c)) : '_';
  return text;
}

std::vector<NamedSize> word_constants(const Manifest& manifest) {
  std::vector<NamedSize> constants;
  for (const Parameter& parameter : manifest.parameters) {
    for (const Value& value : parameter.values) {
      if (value.kind != Value::Kind::kWord) break;
      constants.push_back({word_constant(parameter.name, value.word), value.number});
    }
  }
  return constants;
}

float softmax_scale(const Attention& problem) { return static_cast<float>(scale_of(problem)); }

Scope fixed_scope(const Problem& problem, const DeviceLimits& limits) {
  Scope scope;
  const auto set = [&scope](std::string_view name, std::int64_t value) {
    scope.set(name, static_cast<double>(value));
  };
  set_sizes(problem, scope);
  set_types(problem, scope);
  set("MAX_SHARED", limits.max_shared_block);
  set("MAX_SHARED_SM", limits.max_shared_sm);
  set("SM_COUNT", limits.sm_count);
  set("ARCH", limits.arch.number);
  return scope;
}

Scope config_free_scope(const Manifest& manifest, const Problem& problem,
                        const DeviceLimits& limits) {
  Scope scope = fixed_scope(problem_for(manifest, problem), limits);
  for (const auto& [name, value] : word_constants(manifest))
    scope.set(name, static_cast<double>(value));
  return scope;
}

std::vector<std::string> fixed_names(const Operation& operation) {
  return fixed_scope(operation.smallest_problem(), DeviceLimits{}).names();
}

std::vector<std::string> problem_names(const Operation& operation) {
  Scope scope;
  const Problem any = operation.smallest_problem();
  set_sizes(any, scope);
  set_types(any, scope);
  return scope.names();
}

bool is_reserved_name(std::string_view name, const Operation& operation) {
  if (name == "SOFTMAX_SCALE_LOG2E" || name.starts_with("DTYPE") || name == "OUT_DTYPE")
    return true;
  // Macros that mark the reference and the low-precision reference.
  const bool of_reference = name == "OUT_F32" || name == "ROUND_INTERMEDIATES";
  if (of_reference && operation.declared() != nullptr) return true;
  return std::ranges::count(fixed_names(operation), name) > 0;
}

std::vector<std::string> expression_names(const Manifest& manifest) {
  const Problem any = manifest.operation->smallest_problem();
  std::vector<std::string> names = config_free_scope(manifest, any, DeviceLimits{}).names();
  for (const Parameter& parameter : manifest.parameters) names.push_back(parameter.name);
  for (const Term& term : manifest.terms) names.push_back(term.name);
  return names;
}

Status check_terms(Manifest& manifest) {
  const std::vector<Term> terms = std::move(manifest.terms);
  manifest.terms.clear();
  for (Term term : terms) {
    const Checks check{manifest.where, expression_names(manifest)};
    const std::string path = fmt::format("terms[{}].", manifest.terms.size());
    const std::string fault = macro_fault(term.name, *manifest.operation);
    if (!fault.empty()) return check.error(path + "name", fault);
    if (std::ranges::count(check.known, term.name) > 0)
      return check.error(path + "name", fmt::format("defines {} a second time", term.name));
    FATUNE_TRY_STATUS(check.text(path + "value", term.value));
    term.expanded = fmt::format("({})", expand_terms(manifest, term.value));
    if (term.expanded.size() > kLongestExpression) {
      return check.error(path + "value",
                         fmt::format("is longer than {} characters with the terms that it uses "
                                     "written out",
                                     kLongestExpression));
    }
    manifest.terms.push_back(std::move(term));
  }
  return {};
}

std::string with_names_replaced(std::string_view text,
                                const std::function<std::string(std::string_view)>& found) {
  std::string expanded;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;  // of a name, or with '.' of a number, whose exponent is no name
    while (end < text.size() && in_class(text[end], "A-Za-z0-9_.")) ++end;
    const std::string_view name = text.substr(at, end - at);
    const std::string other = found(name);
    expanded += other.empty() ? name : std::string_view(other);
    if (end < text.size()) expanded += text[end];
    at = end + 1;
  }
  return expanded;
}

std::string expand_terms(const Manifest& manifest, std::string_view text) {
  if (manifest.terms.empty()) return std::string(text);
  return with_names_replaced(text, [&manifest](std::string_view name) {
    const Term* term = find_named(manifest.terms, name);
    return term != nullptr ? term->expanded : std::string();
  });
}

Status check_choices(const Manifest& manifest) {
  Manifest before;  // names allowed in a 'when'
  before.operation = manifest.operation;
  before.parameters = manifest.parameters;
  std::vector<std::string> known = expression_names(before);
  std::erase_if(known, [&](const std::string& name) { return manifest.find(name) != nullptr; });
  for (const Parameter& parameter : manifest.parameters) {
    for (const Rule& rule : parameter.when) {
      FATUNE_TRY_STATUS(check_expression(rule.require, rule.where, expression_names(manifest)));
      const Status known_before =
          check_expression(expand_terms(manifest, rule.require), rule.where, known);
      if (!known_before) {
        return file_error(
            fmt::format("{}: '{}' depends on a parameter that is not listed before {}", rule.where,
                        rule.require, parameter.name));
      }
    }
    known.push_back(parameter.name);
  }
  return {};
}

std::string choice_text(const Parameter& parameter, const Rule& rule) {
  const Value& value = parameter.values[parameter.otherwise_position];
  const std::string otherwise = value.kind == Value::Kind::kWord
                                    ? word_constant(parameter.name, value.word)
                                    : fmt::format("{}", value.number);
  return fmt::format("{} == {} || ({})", parameter.name, otherwise, rule.require);
}

std::string Evaluation::place(const std::string& path) const {
  return fmt::format("{}: field '{}'", manifest_.where, path);
}

Result<std::int64_t> Evaluation::count(const std::string& text, const std::string& path) const {
  FATUNE_TRY(const Expression expression,
             Expression::parse(expand_terms(manifest_, text), place(path)));
  return expression.count(scope_);
}

Result<double> Evaluation::number(const std::string& text, const std::string& path) const {
  FATUNE_TRY(const Expression expression,
             Expression::parse(expand_terms(manifest_, text), place(path)));
  return expression.evaluate(scope_);
}

Result<std::string> Evaluation::runtime(std::string_view text) const {
  return runtime_text(manifest_, text, scope_);
}

Result<std::vector<std::string>> Evaluation::extents(std::span<const std::string> texts,
                                                     std::span<const std::int64_t> values) const {
  std::vector<std::string> written;
  bool runtime = false;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    FATUNE_TRY(std::string extent, this->runtime(texts[i]));
    runtime = runtime || !extent.empty();
    written.push_back(extent.empty() ? fmt::to_string(values[i]) : std::move(extent));
  }
  if (!runtime) written.clear();
  return written;
}

}  // namespace fatune
