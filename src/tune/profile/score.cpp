// score.cpp - measurements to points.
#include "tune/profile/score.hpp"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

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

void add(CompositeScore& score, const char* name, const std::optional<double>& points) {
  if (!points) {
    score.absent.emplace_back(name);
    return;
  }
  score.terms.push_back({name, *points});
  score.value += *points;
}

template <typename Points>
std::optional<double> worth(const std::optional<double>& measured, Points points) {
  return measured ? std::optional<double>(points(*measured)) : std::nullopt;
}

}  // namespace

CompositeScore composite_score(const ScoreInputs& inputs) {
  CompositeScore score;
  add(score, "sdpa",
      worth(inputs.sdpa_us, [&](double us) { return kParityPoints * us / inputs.candidate_us; }));
  add(score, "tensor_pct", worth(inputs.tensor_pct, [](double p) { return kTensorPoints * p; }));
  add(score, "sm_busy", inputs.sm_busy_pct);
  add(score, "syncs", worth(inputs.syncs, [](double n) { return -kSyncPoints * n; }));
  add(score, "registers", worth(inputs.registers, [](double n) {
        return -kRegisterPoints * std::max(0.0, n - kFreeRegisters);
      }));
  add(score, "spills", worth(inputs.spill_bytes, [](double n) { return -kSpillPoints * n; }));
  return score;
}

std::vector<CompositeScore> comparable_scores(std::vector<ScoreInputs> inputs) {
  for (const auto field : kOptional) {
    const bool everywhere = std::all_of(inputs.begin(), inputs.end(), [&](const ScoreInputs& each) {
      return (each.*field).has_value();
    });
    if (everywhere) continue;
    for (ScoreInputs& each : inputs) (each.*field).reset();
  }
  std::vector<CompositeScore> scores;
  for (const ScoreInputs& each : inputs) scores.push_back(composite_score(each));
  return scores;
}

Json to_json(const CompositeScore& score) {
  Json terms = Json::object();
  for (const ScoreTerm& term : score.terms) terms[term.name] = term.points;
  return {{"value", score.value}, {"terms", std::move(terms)}, {"absent", score.absent}};
}

}  // namespace fatune
