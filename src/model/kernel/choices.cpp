// choices.cpp - reads and checks 'when' of a manifest's parameters; a 'when' to a constraint.
#include "model/kernel/choices.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "model/kernel/manifest_parse.hpp"
#include "model/kernel/terms.hpp"
#include "model/kernel/vocabulary.hpp"

namespace fatune {

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
