// spread.cpp - maximin choices, or single steps away from what was asked.
#include "search/strategies/spread.hpp"

#include <utility>

#include "search/strategies/points.hpp"

namespace fatune {

Spread::Spread(const Lattice& space, const StrategyOptions& options, const SpreadPlan& plan)
    : space_(space),
      start_(space, options.start),
      one_lever_(options.one_lever),
      left_(plan.points),
      tries_(plan.tries) {}

void Spread::keep_from(const Point& point) {
  asked_.push_back(point);
  if (one_lever_) edge_.push_back(point);
}

std::optional<std::uint64_t> Spread::start(Deck& deck) {
  const auto index = start_.next(deck);
  if (index && left_ > 0) --left_;
  return index;
}

std::uint64_t Spread::next(Deck& deck, Rng& rng) {
  if (left_ > 0) --left_;
  if (one_lever_) {
    if (const auto index = one_step(deck, rng)) return *index;
  }
  const std::uint64_t index = far_from(space_, asked_, deck, tries_, rng);
  deck.take(index);
  return index;
}

std::optional<std::uint64_t> Spread::one_step(Deck& deck, Rng& rng) {
  while (!edge_.empty()) {
    Point& base = edge_[rng.below(edge_.size())];
    const auto untried = untried_neighbours(space_, deck, base);
    if (!untried.empty()) {
      const std::uint64_t chosen = untried[rng.below(untried.size())];
      deck.take(chosen);
      return chosen;
    }
    std::swap(base, edge_.back());
    edge_.pop_back();
  }
  return std::nullopt;
}

}  // namespace fatune
