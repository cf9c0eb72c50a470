// vocabulary.cpp - names of manifests and templates to their values.
#include "model/kernel/vocabulary.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace fatune {
namespace {

constexpr std::array kDtypes = {Dtype::kF16, Dtype::kBf16, Dtype::kE4m3, Dtype::kE5m2};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
char upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

void set_sizes(const Problem& problem, Scope& scope) {
  for (const NamedSize& size : named_sizes(problem))
    scope.set(size.name, static_cast<double>(size.value));
}

void set_types(const Problem& problem, Scope& scope) {
  scope.set("DTYPE", static_cast<double>(problem.dtype));
  scope.set("DTYPE_BYTES", size_of(problem.dtype));
  if (!problem.custom) scope.set("SOFTMAX_SCALE", static_cast<double>(softmax_scale(problem)));
  for (const Dtype dtype : kDtypes)
    scope.set(word_constant("DTYPE", name(dtype)), static_cast<double>(dtype));
}

}  // namespace

std::string word_constant(std::string_view parameter, std::string_view word) {
  std::string text(parameter);
  text += '_';
  for (const char c : word) text += is_letter(c) || (c >= '0' && c <= '9') ? upper(c) : '_';
  return text;
}

float softmax_scale(const Problem& problem) {
  return static_cast<float>(1.0 / std::sqrt(static_cast<double>(problem.head_dim)));
}

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
  Scope scope = fixed_scope(problem, limits);
  for (const Parameter& parameter : manifest.parameters) {
    for (const Value& value : parameter.values) {
      if (value.kind != Value::Kind::kWord) break;
      scope.set(word_constant(parameter.name, value.word), static_cast<double>(value.number));
    }
  }
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
  if (name == "SOFTMAX_SCALE_LOG2E" || name.starts_with("DTYPE")) return true;
  // What makes a template the reference or its twin.
  const bool of_reference = name == "OUT_F32" || name == "ROUND_INTERMEDIATES";
  if (of_reference && operation.declared() != nullptr) return true;
  const std::vector<std::string> fixed = fixed_names(operation);
  return std::find(fixed.begin(), fixed.end(), name) != fixed.end();
}

std::vector<std::string> expression_names(const Manifest& manifest) {
  const Problem any = manifest.operation->smallest_problem();
  std::vector<std::string> names = config_free_scope(manifest, any, DeviceLimits{}).names();
  for (const Parameter& parameter : manifest.parameters) names.push_back(parameter.name);
  for (const Term& term : manifest.terms) names.push_back(term.name);
  return names;
}

}  // namespace fatune
