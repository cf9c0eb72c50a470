// runtime_sizes.cpp: Checks where run-time sizes stand, and replaces all other names by values.
#include "model/kernel/runtime_sizes.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "core/json.hpp"
#include "core/text.hpp"
#include "core/tokens.hpp"
#include "model/kernel/manifest_check.hpp"
#include "model/kernel/vocabulary.hpp"
#include "model/wisdom/scalar.hpp"

namespace fatune {
namespace {

constexpr std::array<std::string_view, 5> kWritableFunctions = {"ceil_div", "floor_div", "round_up",
                                                                "min", "max"};

/// Returns the first of the names that the text uses; empty if it uses none.
std::string_view name_in(std::string_view text, const std::vector<std::string>& names) {
  if (names.empty()) return {};
  for (const std::string_view token : tokens_of(text, Syntax::kManifest)) {
    if (contains(names, token)) return token;
  }
  return {};
}

bool is_writable(std::string_view token) {
  if (std::ranges::count(kWritableFunctions, token) > 0) return true;
  if (in_word(token.front())) return !is_expression_word(token);
  return is_arithmetic(token) || token == "(" || token == ")" || token == ",";
}

/// Returns the places and texts of everything that is fixed before a run-time size is known.
std::vector<std::pair<std::string, std::string>> fixed_texts(const Manifest& manifest) {
  std::vector<std::pair<std::string, std::string>> texts;
  const auto add_rules = [&](const std::vector<Rule>& rules) {
    for (const Rule& rule : rules) texts.emplace_back(rule.where, rule.require);
  };
  add_rules(manifest.problem_rules);
  add_rules(manifest.constraints);
  for (const Parameter& parameter : manifest.parameters) add_rules(parameter.when);
  for (std::size_t i = 0; i < manifest.stages.size(); ++i) {
    const StageSpec& stage = manifest.stages[i];
    const auto add = [&](const char* field, const std::string& text) {
      texts.emplace_back(field_place(manifest.where, fmt::format("stages[{}].{}", i, field)), text);
    };
    add("when", stage.when);
    add("entry", stage.entry);
    for (const std::string& extent : stage.block) add("block", extent);
    for (const std::string& extent : stage.cluster) add("cluster", extent);
    add("shared_bytes", stage.shared_bytes);
    add("static_shared_bytes", stage.static_shared_bytes);
    add("dependent", stage.dependent);
  }
  return texts;
}

/// Returns the places and texts that the host evaluates before each launch.
std::vector<std::pair<std::string, std::string>> host_texts(const Manifest& manifest) {
  std::vector<std::pair<std::string, std::string>> texts;
  const auto add = [&](const std::string& path, std::string_view text) {
    texts.emplace_back(field_place(manifest.where, path), text);
  };
  for (std::size_t i = 0; i < manifest.terms.size(); ++i)
    add(fmt::format("terms[{}].value", i), manifest.terms[i].value);
  for (std::size_t i = 0; i < manifest.scratch.size(); ++i)
    add(fmt::format("scratch[{}].bytes", i), manifest.scratch[i].bytes);
  for (std::size_t i = 0; i < manifest.stages.size(); ++i) {
    for (const std::string& extent : manifest.stages[i].grid)
      add(fmt::format("stages[{}].grid", i), extent);
    for (const std::string& argument : manifest.stages[i].arguments) {
      if (is_scalar(argument))
        add(fmt::format("stages[{}].arguments", i), split_scalar(argument)->value);
    }
  }
  return texts;
}

}  // namespace

bool depends_on(std::string_view text, const std::vector<std::string>& names) {
  return !name_in(text, names).empty();
}

std::vector<std::string> runtime_sizes(const Operation& operation) {
  std::vector<std::string> names;
  const DeclaredOperation* const declared = operation.declared();
  if (declared == nullptr) return names;
  for (const SizeSpec& size : declared->sizes) {
    if (size.runtime) names.push_back(size.name);
  }
  return names;
}

std::vector<std::string> runtime_sizes(const std::vector<KernelRef>& kernels) {
  std::vector<std::string> names;
  for (const KernelRef& kernel : kernels) {
    for (std::string& name : runtime_sizes(*kernel->manifest.operation)) {
      if (!contains(names, name)) names.push_back(std::move(name));
    }
  }
  return names;
}

std::string runtime_sizes_text(const std::vector<std::string>& names) {
  return names.empty() ? "" : fmt::format("run-time sizes: {}\n", join(names, ", "));
}

std::vector<std::string> runtime_names(const Manifest& manifest) {
  std::vector<std::string> names = runtime_sizes(*manifest.operation);
  if (names.empty()) return names;
  for (const Term& term : manifest.terms) {
    if (depends_on(term.value, names)) names.push_back(term.name);
  }
  return names;
}

std::string runtime_fault(std::string_view text, const std::vector<std::string>& names) {
  const std::string_view name = name_in(text, names);
  if (name.empty()) return {};
  const auto tokens = tokens_of(text, Syntax::kManifest);
  const auto odd = std::ranges::find_if_not(tokens, is_writable);
  if (odd == tokens.end()) return {};
  return fmt::format(
      "has '{}' beside the run-time size {}; exports write + - * /, {} as C and Python. A term "
      "may hold the part without {}",
      *odd, name, fmt::join(kWritableFunctions, ", "), name);
}

Status check_runtime_sizes(const Manifest& manifest) {
  const std::vector<std::string> names = runtime_names(manifest);
  if (names.empty()) return {};
  for (const auto& [place, text] : fixed_texts(manifest)) {
    const std::string_view name = name_in(text, names);
    if (name.empty()) continue;
    return file_error(
        fmt::format("{}: '{}' depends on a run-time size ({}), but must not. Only grid, arguments "
                    "by value and scratch bytes may; otherwise remove \"runtime\" from the size",
                    place, text, name));
  }
  for (const auto& [place, text] : host_texts(manifest)) {
    const std::string fault = runtime_fault(text, names);
    if (!fault.empty()) return file_error(fmt::format("{}: '{}' {}", place, text, fault));
  }
  return {};
}

Result<std::string> runtime_text(const Manifest& manifest, std::string_view text,
                                 const Scope& scope) {
  const std::vector<std::string> names = runtime_names(manifest);
  std::string written;
  if (!depends_on(text, names)) return written;
  const std::vector<std::string> sizes = runtime_sizes(*manifest.operation);
  for (const std::string_view token : tokens_of(text, Syntax::kManifest)) {
    const Term* const term = find_named(manifest.terms, token);
    if (contains(sizes, token) || !starts_name(token.front()) || is_expression_word(token)) {
      written += is_arithmetic(token) ? fmt::format(" {} ", token)
                 : token == ","       ? ", "
                                      : std::string(token);
    } else if (term != nullptr && contains(names, token)) {
      FATUNE_TRY(const std::string value, runtime_text(manifest, term->value, scope));
      written += "(" + value + ")";
    } else {
      const std::string whole(term != nullptr ? term->expanded : token);
      FATUNE_TRY(const Expression expression, Expression::parse(whole, manifest.where));
      FATUNE_TRY(const double value, expression.evaluate(scope));
      written += value < 0 ? fmt::format("({})", value) : fmt::format("{}", value);
    }
  }
  return written;
}

}  // namespace fatune
