// rounds.cpp - keeps what was observed, and feeds a method's rounds to ask and tell.
#include "search/strategies/rounds.hpp"

#include <algorithm>

#include "search/strategies/points.hpp"

namespace fatune {
namespace {

constexpr std::size_t kTriesPerPoint = 20;  // until a sample has no repeats; chosen

// Costs heard from memory, without a new point to ask for, before a method is made to start anew.
// Chosen: above what generations of 26 name in 90 rounds.
constexpr int kMostRepeats = 2500;
constexpr int kLookAheads = 50;  // further moves looked at while a round waits; chosen

}  // namespace

Rounds::Rounds(std::string_view name, const Lattice& space, const StrategyOptions& options)
    : DeckStrategy(name, space, options),
      near_(space),
      given_(space, options.start),
      beside_rng_(~options.seed) {
  start_ = given_.indices();
}

void Rounds::tell(const Told& told) {
  const auto index = space_.index_of(told.point);
  if (!index) return;
  const double heard = told.cost.value_or(kFailedCost);
  known_[*index] = heard;
  if (heard >= least_) return;
  least_ = heard;
  best_index_ = index;
}

std::uint64_t Rounds::next_index() {
  if (const auto index = given_.next(deck_)) return *index;
  hear_what_is_told();
  for (std::size_t i = heard_; i < round_.size(); ++i) {
    if (deck_.take(round_[i])) return round_[i];
  }
  for (int i = 0; i < kLookAheads; ++i) {
    const auto index = look_ahead();
    if (!index) break;
    round_.push_back(*index);
    if (deck_.take(*index)) return *index;
  }
  return beside_the_best();
}

/// Up to the first point of a round whose cost is not known.
void Rounds::hear_what_is_told() {
  for (int repeats = 0;; ++repeats) {
    if (repeats == kMostRepeats) {
      repeats = 0;
      restart();
      next_round();
    }
    if (heard_ == round_.size()) next_round();
    const std::uint64_t index = round_[heard_];
    const auto found = known_.find(index);
    if (found == known_.end()) return;
    ++heard_;
    if (hear(index, found->second) == Round::kIsOver) next_round();
  }
}

void Rounds::next_round() {
  round_ = begin_round();
  heard_ = 0;
  FATUNE_CHECK(!round_.empty(), "a method wants to hear of at least one point");
}

std::uint64_t Rounds::beside_the_best() {
  if (best_index_) {
    const Point point = space_.point(*best_index_);
    if (const auto index = take_untried_neighbour(space_, deck_, point, beside_rng_)) return *index;
  }
  return deck_.draw(beside_rng_);
}

std::uint64_t Rounds::fresh() {
  return deck_.left() > 0 ? deck_.peek(rng_) : rng_.below(space_.size());
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
