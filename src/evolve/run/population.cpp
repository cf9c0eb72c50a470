// population.cpp: Implements the rules of selection.
#include "evolve/run/population.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/result.hpp"
#include "core/text.hpp"
#include "model/results/statistics.hpp"
#include "search/strategies/rng.hpp"

namespace fatune {
namespace {

constexpr std::size_t kInsights = 3, kFailures = 3;  // as in EvoEngineer

using RankedBy = TrialPopulation::RankedBy;

bool passed(const ShapeTrial& shape, RankedBy ranked_by) {
  return ranked_by == RankedBy::kTime ? shape.passed() : shape.outcome == Outcome::kUnavailable;
}

/// Returns the geomean of the ratios of the times of `before` to the times of `now`.
std::optional<double> speedup_over(const Trial& before, const Trial& now) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < std::min(before.shapes.size(), now.shapes.size()); ++i) {
    const auto& old_us = before.shapes[i].time_us;
    const auto& new_us = now.shapes[i].time_us;
    if (!old_us || !new_us) return std::nullopt;
    ratios.push_back(*old_us / *new_us);
  }
  return geomean(ratios);
}

/// Returns the last step that a candidate with this outcome reached.
std::string step_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::kInfeasible:
    case Outcome::kCompileError:
      return step::kCompile;
    case Outcome::kPruned:
      return step::kTime;
    default:
      return step::kCheck;
  }
}

std::uint64_t mixed(std::uint64_t seed, std::uint64_t purpose) {
  return Rng(seed ^ purpose).next();
}

}  // namespace

std::vector<StatedRule> population_rules() {
  return {{"one_lever", "a move changes one thing, which its 'lever' names",
           "what a move brought is then known"},
          {"elites", fmt::format("the {} fastest stay, by the geomean of speed-ups", kElites),
           "they are the parents of what follows"},
          {"regression",
           fmt::format("a move that makes {} problems or more slower than its parent by more than "
                       "{} is discarded",
                       kMostRegressions, percent(kWorstRegression - 1, 0)),
           "a suite is one kernel's"},
          {"charge", "every candidate is a trial, whether or not it passes",
           "validity is a figure of merit"}};
}

bool passed_everywhere(const Trial& trial, RankedBy ranked_by) {
  return !trial.shapes.empty() && std::ranges::all_of(trial.shapes, [&](const ShapeTrial& shape) {
    return passed(shape, ranked_by);
  });
}

const Trial& TrialPopulation::add(Trial trial) {
  judge(trial);
  if (trial.valid()) select(trial);
  const auto best = elites_.empty() || elites_.front() == trials_.size()
                        ? trial.speedup
                        : trials_[elites_.front()].speedup;
  trial.best = best;
  trials_.push_back(std::move(trial));
  return trials_.back();
}

const Trial& TrialPopulation::add_profile(std::string words) {
  trials_.back().profile = std::move(words);
  return trials_.back();
}

void TrialPopulation::judge(Trial& trial) const {
  trial.verdict = verdict::kInvalid;
  for (const ShapeTrial& shape : trial.shapes) {
    if (passed(shape, ranked_by_)) continue;
    trial.step = step_of(shape.outcome);
    if (trial.reason.empty()) {
      trial.reason = fmt::format("{}: {}{}", shape.problem, name(shape.outcome),
                                 shape.reason.empty() ? "" : ": " + shape.reason);
    }
  }
  if (!passed_everywhere(trial, ranked_by_)) return;
  trial.verdict = verdict::kKept;
  trial.step = step::kSelect;
  const Trial* first = trial.parents.empty() ? nullptr : find(trial.parents.front());
  trial.speedup = trials_.empty() ? speedup_over(trial, trial) : speedup_over(start(), trial);
  if (first != nullptr) trial.gain = speedup_over(*first, trial);
  const std::size_t slower = first == nullptr ? 0 : regressions(trial, *first);
  if (slower < kMostRegressions) return;
  trial.verdict = verdict::kDiscarded;
  trial.reason = fmt::format("slower than {} by more than {} on {} problems", first->id(),
                             percent(kWorstRegression - 1, 0), slower);
}

/// `trial` is not added yet; its position is the end.
void TrialPopulation::select(Trial& trial) {
  if (trial.verdict == verdict::kDiscarded) return;
  const std::size_t place = trials_.size();
  const auto behind = [&](std::size_t other) {
    return ranked_by_ == RankedBy::kAge ||
           trials_[other].speedup.value_or(0) < trial.speedup.value_or(0);
  };
  elites_.insert(std::ranges::find_if(elites_, behind), place);
  if (elites_.size() > kElites) elites_.pop_back();
  if (std::ranges::find(elites_, place) != elites_.end()) trial.verdict = verdict::kElite;
}

std::size_t TrialPopulation::regressions(const Trial& trial, const Trial& parent) const {
  std::size_t count = 0;
  for (std::size_t i = 0; i < std::min(trial.shapes.size(), parent.shapes.size()); ++i) {
    const auto& now = trial.shapes[i].time_us;
    const auto& before = parent.shapes[i].time_us;
    count += now && before && *now > kWorstRegression * *before ? 1 : 0;
  }
  return count;
}

std::vector<const Trial*> TrialPopulation::elites() const {
  std::vector<const Trial*> elites;
  for (const std::size_t place : elites_) elites.push_back(&trials_[place]);
  return elites;
}

const Trial* TrialPopulation::find(std::string_view id) const {
  const auto found = std::ranges::find_if(trials_, [&](const Trial& t) { return t.id() == id; });
  return found == trials_.end() ? nullptr : &*found;
}

const Trial* TrialPopulation::same_as(std::string_view key) const {
  const auto found = std::ranges::find_if(
      trials_, [&](const Trial& t) { return !t.key.empty() && t.key == key && !t.shapes.empty(); });
  return found == trials_.end() ? nullptr : &*found;
}

std::vector<const Trial*> TrialPopulation::parents(ProposerMode mode, std::size_t count,
                                                   std::uint64_t seed) const {
  std::vector<const Trial*> left = elites(), chosen;
  if (mode != ProposerMode::kFull) return {left.front()};
  Rng rng(mixed(seed, 1));
  while (chosen.size() < count && !left.empty()) {
    double total = 0;
    for (std::size_t rank = 0; rank < left.size(); ++rank)
      total += 1.0 / static_cast<double>(rank + 1 + left.size());
    double drawn = rng.unit() * total;
    std::size_t rank = 0;
    for (; rank + 1 < left.size(); ++rank) {
      drawn -= 1.0 / static_cast<double>(rank + 1 + left.size());
      if (drawn < 0) break;
    }
    chosen.push_back(left[rank]);
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(rank));
  }
  return chosen;
}

std::vector<const Trial*> TrialPopulation::insights(std::uint64_t seed) const {
  std::vector<const Trial*> all, drawn;
  for (const Trial& trial : trials_) {
    const bool silent = trial.insight.empty() && trial.thought.empty() && trial.lever.empty();
    if (trial.number != 0 && !silent) all.push_back(&trial);
  }
  Rng rng(mixed(seed, 2));
  std::vector<std::size_t> order = rng.order(all.size());
  order.resize(std::min(order.size(), kInsights));
  std::ranges::sort(order);
  for (const std::size_t place : order) drawn.push_back(all[place]);
  return drawn;
}

std::vector<const Trial*> TrialPopulation::failures() const {
  std::vector<const Trial*> failures;
  for (const Trial& trial : trials_) {
    if (!trial.valid()) failures.push_back(&trial);
  }
  const auto excess = std::max<std::ptrdiff_t>(0, std::ssize(failures) - std::ptrdiff_t{kFailures});
  failures.erase(failures.begin(), failures.begin() + excess);
  return failures;
}

}  // namespace fatune
