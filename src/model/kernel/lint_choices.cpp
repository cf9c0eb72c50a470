// lint_choices.cpp - asks the rules of every 'when' about configs, until both answers were seen.
#include "model/kernel/lint_choices.hpp"

#include <fmt/format.h>

#include "model/space/rules.hpp"

namespace fatune {
namespace {

/// The next combination of the rule's parameters but `own`; false after the last.
bool advance(const CompiledRule& rule, const Manifest& manifest, std::size_t own,
             std::vector<std::uint16_t>& positions) {
  for (const std::size_t axis : rule.axes()) {
    if (axis == own) continue;
    if (++positions[axis] < manifest.parameters[axis].values.size()) return true;
    positions[axis] = 0;
  }
  return false;
}

}  // namespace

ChoiceCheck::ChoiceCheck(const Manifest& manifest) : manifest_(manifest) {
  for (std::size_t p = 0; p < manifest.parameters.size(); ++p) {
    for (std::size_t r = 0; r < manifest.parameters[p].when.size(); ++r) seen_.push_back({p, r});
  }
}

void ChoiceCheck::look(const Problem& problem, const DeviceLimits& limits) {
  const Result<std::string> unsupported = unsupported_reason(manifest_, problem, limits);
  if (!unsupported || !unsupported->empty()) return;
  Result<std::vector<CompiledRule>> rules = compile_rules(manifest_, problem, limits);
  if (!rules) return;
  for (std::size_t i = 0; i < seen_.size(); ++i) {
    Seen& seen = seen_[i];
    CompiledRule& rule = (*rules)[i];  // they come first, in this order
    const Parameter& parameter = manifest_.parameters[seen.parameter];
    if (parameter.values.size() == 1) continue;
    std::vector<std::uint16_t> positions(manifest_.parameters.size(), 0);
    // Any value but the one that the parameter has elsewhere.
    positions[seen.parameter] = parameter.otherwise_position == 0 ? 1 : 0;
    do {
      if (seen.holds && seen.broken) break;
      const Result<bool> holds = rule.holds(positions);
      if (holds) (*holds ? seen.holds : seen.broken) = true;
    } while (advance(rule, manifest_, seen.parameter, positions));
  }
}

std::vector<LintFinding> ChoiceCheck::findings() const {
  std::vector<LintFinding> findings;
  for (const Seen& seen : seen_) {
    if (seen.holds == seen.broken) continue;
    const Rule& rule = manifest_.parameters[seen.parameter].when[seen.rule];
    findings.push_back(
        {Severity::kWarning, rule.where,
         fmt::format("{} is {} true, for any config of any {} problem", rule.require,
                     seen.holds ? "always" : "never",
                     manifest_.operation->declared() != nullptr ? "typical" : "standard")});
  }
  return findings;
}

}  // namespace fatune
