// population.cpp - tournaments, crossover, mutation, and a little local search.
#include "search/strategies/population.hpp"

#include <algorithm>
#include <utility>

#include "search/strategies/points.hpp"

namespace fatune {
namespace {

// Chosen on replays of 19 published spaces, where values around them did alike: populations of 8 to
// 20, tournaments of 2 to 5, crossover in 3 to 9 of 10 cases.
constexpr std::uint64_t kTournament = 3;
constexpr double kCrossoverShare = 0.7;
constexpr double kMutateAfterCrossover = 0.5;
constexpr std::size_t kElites = 3;
constexpr double kLocalShare = 0.2;   // of children: a single-axis neighbour of an elite
constexpr double kLocalAtBest = 0.7;  // of those: of the very best
constexpr int kBreedTries = 200;      // until a child is valid and new

}  // namespace

void Population::join(const Point& point, double cost) {
  Member member{point, cost};
  const auto place =
      std::upper_bound(members_.begin(), members_.end(), member,
                       [](const Member& a, const Member& b) { return a.cost < b.cost; });
  members_.insert(place, std::move(member));
  shrink(kSize);
}

void Population::shrink(std::size_t size) {
  if (members_.size() > size) members_.resize(size);
}

/// Members are sorted: the smallest of a few random ranks wins.
const Point& Population::win_tournament(Rng& rng) const {
  std::uint64_t winner = members_.size();
  for (std::uint64_t i = 0; i < kTournament; ++i) {
    winner = std::min(winner, rng.below(members_.size()));
  }
  return members_[winner].point;
}

Point Population::breed(Rng& rng) const {
  const Point& mother = win_tournament(rng);
  if (one_lever_) return move_one_axis(space_, mother, rng);
  if (!rng.chance(kCrossoverShare)) return mutate(space_, mother, rng);
  const Point crossed = crossover(mother, win_tournament(rng), rng);
  return rng.chance(kMutateAfterCrossover) ? mutate(space_, crossed, rng) : crossed;
}

std::optional<std::uint64_t> Population::child(Deck& deck, Rng& rng) const {
  if (rng.chance(kLocalShare)) {
    const std::uint64_t elites = std::min(kElites, members_.size());
    const std::uint64_t rank = rng.chance(kLocalAtBest) ? 0 : rng.below(elites);
    if (const auto index = take_untried_neighbour(space_, deck, member(rank), rng)) return index;
  }
  for (int i = 0; i < kBreedTries; ++i) {
    const auto index = space_.index_of(breed(rng));
    if (index && deck.take(*index)) return *index;
  }
  return std::nullopt;
}

}  // namespace fatune
