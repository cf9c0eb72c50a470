// points.cpp: Implements distances, mutation, crossover, spread choices and populations.
#include "search/strategies/points.hpp"

#include <cmath>
#include <limits>
#include <utility>

namespace fatune {
namespace {

// Share of a number's mutations that move one step; chosen, 0.3 to 0.8 were equally good.
constexpr double kStepShare = 0.6;

// Chosen on replays of 19 published spaces. Populations of 8 to 20, tournaments of 2 to 5 and
// crossover in 3 to 9 of 10 cases were equally good.
constexpr std::uint64_t kTournament = 3;
constexpr double kCrossoverShare = 0.7;
constexpr double kMutateAfterCrossover = 0.5;
constexpr std::size_t kElites = 3;
constexpr double kLocalShare = 0.2;   // share of children beside one of the best points
constexpr double kLocalAtBest = 0.7;  // share of elite neighbours that are the best point's
constexpr int kBreedTries = 200;      // attempts at a valid and untried child

std::vector<std::size_t> movable_axes(const Lattice& space) {
  std::vector<std::size_t> movable;
  for (std::size_t i = 0; i < space.axes().size(); ++i) {
    if (space.axes()[i].size > 1) movable.push_back(i);
  }
  return movable;
}

std::uint16_t mutate_axis(const Axis& axis, std::uint16_t old, Rng& rng) {
  const std::uint64_t choices = axis.size;
  if (axis.ordinal && rng.chance(kStepShare)) {
    const bool up = old == 0 || (old + 1U < choices && rng.chance(0.5));
    return static_cast<std::uint16_t>(up ? old + 1 : old - 1);
  }
  const std::uint64_t other = rng.below(choices - 1);
  return static_cast<std::uint16_t>(other < old ? other : other + 1);
}

/// Changes one random axis as mutate() does.
Point move_one_axis(const Lattice& space, const Point& point, Rng& rng) {
  const std::vector<std::size_t> movable = movable_axes(space);
  if (movable.empty()) return point;
  const std::size_t axis = movable[rng.below(movable.size())];
  Point moved = point;
  moved[axis] = mutate_axis(space.axes()[axis], point[axis], rng);
  return moved;
}

}  // namespace

double distance(const Lattice& space, const Point& a, const Point& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i]) continue;
    const Axis& axis = space.axes()[i];
    const double steps = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    const double longest = static_cast<double>(axis.size - 1);
    sum += axis.ordinal ? 0.5 + 0.5 * steps / longest : 1.0;
  }
  return sum;
}

std::vector<Point> nearest_by_value(const Lattice& space, const Point& from,
                                    std::span<const Point> points) {
  struct Nearest {
    double distance = std::numeric_limits<double>::infinity();
    const Point* point = nullptr;
  };
  std::vector<std::vector<Nearest>> by_value;
  for (const Axis& axis : space.axes()) by_value.emplace_back(axis.size);
  for (const Point& point : points) {
    const double far = distance(space, from, point);
    for (std::size_t i = 0; i < point.size(); ++i) {
      Nearest& nearest = by_value[i][point[i]];
      if (point[i] != from[i] && far < nearest.distance) nearest = {far, &point};
    }
  }
  std::vector<Point> found;
  for (const auto& values : by_value) {
    for (const Nearest& nearest : values) {
      if (nearest.point) found.push_back(*nearest.point);
    }
  }
  return found;
}

Point mutate(const Lattice& space, const Point& point, Rng& rng) {
  const std::vector<std::size_t> movable = movable_axes(space);
  if (movable.empty()) return point;
  const std::size_t sure = movable[rng.below(movable.size())];
  Point mutant = point;
  for (const std::size_t i : movable) {
    if (i == sure || rng.chance(1.0 / static_cast<double>(movable.size()))) {
      mutant[i] = mutate_axis(space.axes()[i], point[i], rng);
    }
  }
  return mutant;
}

Point crossover(const Point& mother, const Point& father, Rng& rng) {
  Point child = mother;
  for (std::size_t i = 0; i < child.size(); ++i) {
    if (rng.chance(0.5)) child[i] = father[i];
  }
  return child;
}

std::vector<std::uint64_t> untried_neighbours(const Lattice& space, const UntriedSet& untried,
                                              const Point& point) {
  std::vector<std::uint64_t> found;
  for (const Point& neighbour : space.neighbours(point)) {
    const auto index = space.index_of(neighbour);
    if (index && untried.has(*index)) found.push_back(*index);
  }
  return found;
}

std::optional<std::uint64_t> take_untried_neighbour(const Lattice& space, UntriedSet& untried,
                                                    const Point& point, Rng& rng) {
  const std::vector<std::uint64_t> neighbours = untried_neighbours(space, untried, point);
  if (neighbours.empty()) return std::nullopt;
  const std::uint64_t chosen = neighbours[rng.below(neighbours.size())];
  untried.take(chosen);
  return chosen;
}

std::uint64_t far_from(const Lattice& space, const std::vector<Point>& known,
                       const UntriedSet& untried, int tries, Rng& rng) {
  std::uint64_t chosen = untried.peek(rng);
  double widest = -1;
  for (int i = 0; i < tries; ++i) {
    const std::uint64_t index = untried.peek(rng);
    const Point point = space.point(index);
    double nearest = std::numeric_limits<double>::infinity();
    for (const Point& other : known) nearest = std::min(nearest, distance(space, point, other));
    if (nearest > widest) {
      widest = nearest;
      chosen = index;
    }
  }
  return chosen;
}

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

std::optional<std::uint64_t> Spread::start(UntriedSet& untried) {
  const auto index = start_.next(untried);
  if (index && left_ > 0) --left_;
  return index;
}

std::uint64_t Spread::next(UntriedSet& untried, Rng& rng) {
  if (left_ > 0) --left_;
  if (one_lever_) {
    if (const auto index = one_step(untried, rng)) return *index;
  }
  const std::uint64_t index = far_from(space_, asked_, untried, tries_, rng);
  untried.take(index);
  return index;
}

std::optional<std::uint64_t> Spread::one_step(UntriedSet& untried, Rng& rng) {
  while (!edge_.empty()) {
    Point& base = edge_[rng.below(edge_.size())];
    if (const auto index = take_untried_neighbour(space_, untried, base, rng)) return index;
    std::swap(base, edge_.back());
    edge_.pop_back();
  }
  return std::nullopt;
}

void Population::join(const Point& point, double cost) {
  members_.insert(std::ranges::upper_bound(members_, cost, {}, &Member::cost), {point, cost});
  shrink(kSize);
}

void Population::shrink(std::size_t size) {
  if (members_.size() > size) members_.resize(size);
}

/// Members are sorted, so the smallest of kTournament random ranks wins.
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

std::optional<std::uint64_t> Population::child(UntriedSet& untried, Rng& rng) const {
  if (rng.chance(kLocalShare)) {
    const std::uint64_t elites = std::min(kElites, members_.size());
    const std::uint64_t rank = rng.chance(kLocalAtBest) ? 0 : rng.below(elites);
    if (const auto index = take_untried_neighbour(space_, untried, member(rank), rng)) return index;
  }
  for (int i = 0; i < kBreedTries; ++i) {
    const auto index = space_.index_of(breed(rng));
    if (index && untried.take(*index)) return *index;
  }
  return std::nullopt;
}

}  // namespace fatune
