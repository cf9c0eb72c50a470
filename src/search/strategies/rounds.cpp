// rounds.cpp: Runs the rounds of a search method behind ask and tell.
#include "search/strategies/rounds.hpp"

#include <algorithm>

#include "search/strategies/points.hpp"

namespace fatune {
namespace {

constexpr std::size_t kTriesPerPoint = 20;  // attempts at a sample; chosen

// Known costs replayed without a new point before the method is restarted. Chosen above the number
// that 90 generations of 26 points repeat.
constexpr int kMostRepeats = 2500;
constexpr int kLookAheads = 50;  // moves predicted while a round waits for costs; chosen

}  // namespace

Rounds::Rounds(std::string_view name, const Lattice& space, const StrategyOptions& options)
    : UntriedSetStrategy(name, space, options),
      near_(space),
      given_(space, options.start),
      neighbour_rng_(~options.seed) {
  start_ = given_.indices();
}

void Rounds::tell(const EvaluatedPoint& told) {
  const auto index = space_.index_of(told.point);
  if (!index) return;
  const double cost = told.cost.value_or(kFailedCost);
  known_[*index] = cost;
  if (cost >= least_) return;
  least_ = cost;
  best_index_ = index;
}

std::uint64_t Rounds::next_index() {
  if (const auto index = given_.next(untried_)) return *index;
  observe_known_costs();
  for (std::size_t i = observed_; i < round_.size(); ++i) {
    if (untried_.take(round_[i])) return round_[i];
  }
  for (int i = 0; i < kLookAheads; ++i) {
    const auto index = look_ahead();
    if (!index) break;
    round_.push_back(*index);
    if (untried_.take(*index)) return *index;
  }
  return neighbour_of_best();
}

/// Advances the method up to the first point of a round whose cost is unknown.
void Rounds::observe_known_costs() {
  for (int repeats = 0;; ++repeats) {
    if (repeats == kMostRepeats) {
      repeats = 0;
      restart();
      next_round();
    }
    if (observed_ == round_.size()) next_round();
    const std::uint64_t index = round_[observed_];
    const auto found = known_.find(index);
    if (found == known_.end()) return;
    ++observed_;
    if (observe(index, found->second) == Round::kIsOver) next_round();
  }
}

void Rounds::next_round() {
  round_ = begin_round();
  observed_ = 0;
  FATUNE_CHECK(!round_.empty(), "a method wants to hear of at least one point");
}

std::uint64_t Rounds::neighbour_of_best() {
  if (best_index_) {
    const Point point = space_.point(*best_index_);
    if (const auto index = take_untried_neighbour(space_, untried_, point, neighbour_rng_))
      return *index;
  }
  return untried_.draw(neighbour_rng_);
}

std::uint64_t Rounds::fresh() {
  return untried_.left() > 0 ? untried_.peek(rng_) : rng_.below(space_.size());
}

std::vector<std::uint64_t> Rounds::sample(std::size_t count, std::vector<std::uint64_t> first) {
  std::vector<std::uint64_t> drawn = {fresh()};
  for (std::size_t i = 0; i < kTriesPerPoint * count && drawn.size() < count; ++i) {
    const std::uint64_t index = fresh();
    if (std::ranges::find(drawn, index) == drawn.end()) drawn.push_back(index);
  }
  std::copy_n(first.begin(), std::min(first.size(), drawn.size()), drawn.begin());
  return drawn;
}

}  // namespace fatune
