// score.cpp: Turns measurements into points.
#include "tune/profile/score.hpp"

#include <algorithm>

namespace fatune {
namespace {

constexpr double kParityPoints = 1000;
constexpr double kTensorPoints = 2;
constexpr double kSyncPoints = 1;
constexpr double kFreeRegisters = 128;
constexpr double kRegisterPoints = 0.1;
constexpr double kSpillPoints = 0.25;

using I = ScoreInputs;
constexpr std::optional<double> I::*kOptional[] = {&I::sdpa_us, &I::tensor_pct, &I::sm_busy_pct,
                                                   &I::syncs,   &I::registers,  &I::spill_bytes};

}  // namespace

CompositeScore composite_score(const ScoreInputs& x) {
  CompositeScore score;
  const auto add = [&](const char* name, const std::optional<double>& measured, double points) {
    if (!measured) score.absent.emplace_back(name);
    if (measured) score.value += points;
  };
  add("sdpa", x.sdpa_us, kParityPoints * x.sdpa_us.value_or(0) / x.candidate_us);
  add("tensor_pct", x.tensor_pct, kTensorPoints * x.tensor_pct.value_or(0));
  add("sm_busy", x.sm_busy_pct, x.sm_busy_pct.value_or(0));
  add("syncs", x.syncs, -kSyncPoints * x.syncs.value_or(0));
  add("registers", x.registers,
      -kRegisterPoints * std::max(0.0, x.registers.value_or(0) - kFreeRegisters));
  add("spills", x.spill_bytes, -kSpillPoints * x.spill_bytes.value_or(0));
  return score;
}

std::vector<CompositeScore> comparable_scores(std::vector<ScoreInputs> inputs) {
  for (const auto field : kOptional) {
    const bool everywhere = std::ranges::all_of(
        inputs, [&](const ScoreInputs& each) { return (each.*field).has_value(); });
    if (everywhere) continue;
    for (ScoreInputs& each : inputs) (each.*field).reset();
  }
  std::vector<CompositeScore> scores;
  for (const ScoreInputs& each : inputs) scores.push_back(composite_score(each));
  return scores;
}

}  // namespace fatune
