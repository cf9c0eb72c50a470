// lint_choices.cpp: Evaluates the rules of every 'when' on configs until both results were seen.
#include <string_view>

#include <fmt/format.h>

#include "model/space/lint.hpp"
#include "model/space/rules.hpp"

namespace fatune {
namespace {

constexpr std::string_view kNeverSearched = "0";  ///< constant by intent

struct Seen {
  std::size_t parameter, rule;
  bool holds = false, broken = false;
};

/// Advances to the next combination of the rule's parameters except `own`; false after the last.
bool advance(const CompiledRule& rule, const Manifest& manifest, std::size_t own,
             std::vector<std::uint16_t>& positions) {
  for (const std::size_t axis : rule.axes()) {
    if (axis == own) continue;
    if (++positions[axis] < manifest.parameters[axis].values.size()) return true;
    positions[axis] = 0;
  }
  return false;
}

/// Records the results of every 'when' rule over the configs of a problem on a device.
void look(const Manifest& manifest, const LintCase& at, std::vector<Seen>& all) {
  const Result<std::string> unsupported = unsupported_reason(manifest, at.problem, at.limits);
  if (!unsupported || !unsupported->empty()) return;
  Result<std::vector<CompiledRule>> rules = compile_rules(manifest, at.problem, at.limits);
  if (!rules) return;
  for (std::size_t i = 0; i < all.size(); ++i) {
    Seen& seen = all[i];
    CompiledRule& rule = (*rules)[i];  // they come first, in this order
    const Parameter& parameter = manifest.parameters[seen.parameter];
    if (parameter.values.size() == 1) continue;
    std::vector<std::uint16_t> positions(manifest.parameters.size(), 0);
    // Uses a value other than the one that the parameter has elsewhere.
    positions[seen.parameter] = parameter.otherwise_position == 0 ? 1 : 0;
    do {
      if (seen.holds && seen.broken) break;
      const Result<bool> holds = rule.holds(positions);
      if (holds) (*holds ? seen.holds : seen.broken) = true;
    } while (advance(rule, manifest, seen.parameter, positions));
  }
}

}  // namespace

std::vector<LintFinding> lint_choices(const Manifest& manifest, std::span<const LintCase> cases) {
  std::vector<Seen> all;
  for (std::size_t p = 0; p < manifest.parameters.size(); ++p) {
    for (std::size_t r = 0; r < manifest.parameters[p].when.size(); ++r) all.push_back({p, r});
  }
  for (const LintCase& each : cases) look(manifest, each, all);
  std::vector<LintFinding> findings;
  for (const Seen& seen : all) {
    if (seen.holds == seen.broken) continue;
    const Rule& rule = manifest.parameters[seen.parameter].when[seen.rule];
    if (rule.require == kNeverSearched) continue;
    findings.push_back(
        {Severity::kWarning, rule.where,
         fmt::format("{} is {} true, for any config of any {} problem", rule.require,
                     seen.holds ? "always" : "never",
                     manifest.operation->declared() != nullptr ? "typical" : "standard")});
  }
  return findings;
}

}  // namespace fatune
