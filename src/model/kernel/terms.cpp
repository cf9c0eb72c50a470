// terms.cpp - terms to values, texts with terms to texts without, 'when' to constraints.
#include "model/kernel/terms.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "model/kernel/expression.hpp"
#include "model/kernel/manifest_parse.hpp"
#include "model/kernel/vocabulary.hpp"

namespace fatune {
namespace {

/// A letter, digit or _ of a name; with '.' also of a number, whose exponent is no name.
bool in_name_or_number(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.';
}

Result<Term> parse_term(const Fields& fields, const Manifest& manifest) {
  FATUNE_TRY_STATUS(fields.only({"name", "value", "meaning"}));
  Term term;
  FATUNE_TRY(term.name, parse_macro_name(fields, *manifest.operation));
  const std::vector<std::string> known = expression_names(manifest);
  if (std::find(known.begin(), known.end(), term.name) != known.end()) {
    return fields.error("name", fmt::format("defines {} a second time", term.name));
  }
  FATUNE_TRY(term.value, fields.text("value"));
  FATUNE_TRY_STATUS(check_expression(term.value, place(fields, "value"), known));
  FATUNE_TRY(term.meaning, parse_words(fields, "meaning"));
  term.expanded = fmt::format("({})", expand_terms(manifest, term.value));
  if (term.expanded.size() > kLongestExpression) {
    return fields.error("value", fmt::format("is longer than {} characters with the terms that it "
                                             "uses written out",
                                             kLongestExpression));
  }
  return term;
}

}  // namespace

Status parse_terms(const Fields& root, Manifest& manifest) {
  FATUNE_TRY(const std::vector<Fields> list, root.objects_or_empty("terms"));
  for (const Fields& fields : list) {
    FATUNE_TRY(Term term, parse_term(fields, manifest));
    manifest.terms.push_back(std::move(term));
  }
  return {};
}

std::string expand_terms(const Manifest& manifest, std::string_view text) {
  if (manifest.terms.empty()) return std::string(text);
  std::string expanded;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && in_name_or_number(text[end])) ++end;
    const std::string_view name = text.substr(at, end - at);
    const Term* term = find_named(manifest.terms, name);
    expanded += term != nullptr ? std::string_view(term->expanded) : name;
    if (end < text.size()) expanded += text[end];
    at = end + 1;
  }
  return expanded;
}

Result<std::vector<Rule>> parse_when(const Fields& parameter) {
  if (!parameter.has("when") || !parameter.json().at("when").is_string()) {
    return parse_rules(parameter, "when");
  }
  Rule rule;
  FATUNE_TRY(rule.require, parameter.text("when"));
  rule.why = "elsewhere the parameter is no choice";
  rule.where = place(parameter, "when");
  rule.prunes = true;
  return std::vector<Rule>{std::move(rule)};
}

Status check_choices(const Manifest& manifest) {
  Manifest before;  // what a 'when' may name
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

}  // namespace fatune
