// fast_p.cpp: Counts the problems above each p.
#include "model/results/fast_p.hpp"

#include <algorithm>
#include <array>

#include "core/fields.hpp"

namespace fatune {
namespace {

constexpr std::array kFastThresholds = {0.0, 0.5, 0.8, 1.0, 1.5, 2.0};

}  // namespace

std::optional<double> speedup_of(const ProblemResult& result) {
  if (result.finals.empty()) return std::nullopt;
  if (result.best() == nullptr) return 0.0;
  if (!result.gate || !(result.gate->ratio.value > 0)) return std::nullopt;
  return 1 / result.gate->ratio.value;
}

std::optional<FastP> fast_p(std::span<const double> speedups) {
  if (speedups.empty()) return std::nullopt;
  FastP found{speedups.size(), {}};
  for (const double p : kFastThresholds) {
    const auto above = std::ranges::count_if(speedups, [p](double speedup) { return speedup > p; });
    found.shares.push_back({p, static_cast<double>(above) / static_cast<double>(speedups.size())});
  }
  return found;
}

void fields(FastShare& x, FieldList& f) {
  f("p", x.p).required().at_least(0);
  f("share", x.share).required().range(0, 1);
}

void fields(FastP& x, FieldList& f) {
  f.record("fast_p", "Shares of problems that are right and more than p times as fast");
  f("problems", x.problems).required().about("With a final phase and a baseline");
  f("shares", x.shares).required();
}

}  // namespace fatune
