// feasibility.cpp - asks the rules in their order, the constraints first.
#include "model/space/feasibility.hpp"

#include <utility>
#include <vector>

#include "model/space/rules.hpp"

namespace fatune {

/// The rules refer to the other three.
struct Feasibility::Rules {
  KernelRef kernel;
  Problem problem;
  DeviceLimits limits;
  std::vector<CompiledRule> all;
};

Feasibility::Feasibility(std::unique_ptr<Rules> rules) : rules_(std::move(rules)) {}
Feasibility::Feasibility(Feasibility&&) noexcept = default;
Feasibility& Feasibility::operator=(Feasibility&&) noexcept = default;
Feasibility::~Feasibility() = default;

Result<Feasibility> Feasibility::make(KernelRef kernel, const Problem& problem,
                                      const DeviceLimits& limits) {
  auto rules = std::make_unique<Rules>(Rules{std::move(kernel), problem, limits, /*all=*/{}});
  FATUNE_TRY(rules->all, compile_rules(rules->kernel->manifest, rules->problem, rules->limits));
  return Feasibility(std::move(rules));
}

Result<std::string> Feasibility::broken(const Config& config, Strictness strictness) {
  const Manifest& manifest = rules_->kernel->manifest;
  FATUNE_TRY(const std::vector<std::uint16_t> positions, positions_of(manifest, config));
  for (CompiledRule& rule : rules_->all) {
    if (rule.prunes() && strictness == Strictness::kNecessary) continue;
    FATUNE_TRY(std::string reason, rule.broken_reason(positions));
    if (!reason.empty()) return reason;
  }
  return std::string();
}

Result<std::string> infeasible_reason(const Candidate& candidate, const DeviceLimits& limits,
                                      Strictness strictness) {
  FATUNE_TRY(Feasibility rules, Feasibility::make(candidate.kernel, candidate.problem, limits));
  return rules.broken(candidate.config, strictness);
}

Result<std::string> impossible_reason(const Candidate& candidate, const DeviceLimits& limits) {
  FATUNE_TRY(std::string reason,
             unsupported_reason(candidate.kernel->manifest, candidate.problem, limits));
  if (!reason.empty()) return reason;
  return infeasible_reason(candidate, limits, Strictness::kNecessary);
}

}  // namespace fatune
