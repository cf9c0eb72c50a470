// rounds.cpp: Runs rounds of points with known costs, and draws the neighbours of points.
#include "search/strategies/rounds.hpp"

#include <algorithm>

namespace fatune {
namespace {

constexpr std::size_t kTriesPerPoint = 20;  // attempts at a sample; chosen

// Known costs replayed without a new point before the method is restarted. Chosen above the number
// that 90 generations of 26 points repeat.
constexpr int kMostRepeats = 2500;
constexpr int kLookAheads = 50;  // moves predicted while a round waits for costs; chosen

constexpr int kDraws = 32;                // draws in a box before the tree is walked; chosen
constexpr std::size_t kMaxVisits = 2000;  // branches of one walk; chosen, well under a millisecond
constexpr std::uint64_t kSampled = 4096;  // points tried for the values in use; chosen

std::uint64_t gap(std::uint16_t a, std::uint16_t b) { return a > b ? a - b : b - a; }

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

Neighbourhood::Neighbourhood(const Lattice& space)
    : space_(space), weights_(space.axes().size(), 1) {
  for (std::size_t axis = weights_.size(); axis-- > 1;) {
    weights_[axis - 1] = weights_[axis] * space.axes()[axis].size;
  }
}

std::optional<std::uint64_t> Neighbourhood::hamming(const Point& point, Rng& rng) const {
  const std::vector<Point> near = space_.neighbours(point);
  if (near.empty()) return std::nullopt;
  return space_.index_of(near[rng.below(near.size())]);
}

/// Moves one position along an axis; `used` skips values that no valid point has.
std::optional<std::uint64_t> Neighbourhood::one_step_away(const Point& point, const Used* used,
                                                          Rng& rng) const {
  Bounds box{point, point, std::nullopt};
  for (std::size_t axis = 0; axis < point.size(); ++axis) {
    std::uint16_t& lower = box.lower[axis];
    std::uint16_t& upper = box.upper[axis];
    const auto last = static_cast<std::uint16_t>(space_.axes()[axis].size - 1);
    if (lower > 0) --lower;
    while (used != nullptr && lower > 0 && !(*used)[axis][lower]) --lower;
    if (upper < last) ++upper;
    while (used != nullptr && upper < last && !(*used)[axis][upper]) ++upper;
  }
  return in_box(point, box, rng);
}

/// The state of one walk over the tree of axes.
struct Neighbourhood::Walk {
  const Point& point;
  const Bounds& bounds;
  Rng& rng;
  std::size_t visits = 0;
  std::uint64_t found = 0;  ///< points found, of which `chosen` is a random one
  std::uint64_t chosen = 0;
};

std::uint64_t Neighbourhood::closest(const Point& point, Rng& rng) const {
  Bounds shell{Point(point.size(), 0), Point(point.size(), 0), 0};
  std::uint64_t farthest = 0;
  for (std::size_t axis = 0; axis < point.size(); ++axis) {
    shell.upper[axis] = static_cast<std::uint16_t>(space_.axes()[axis].size - 1);
    farthest += std::max<std::uint64_t>(point[axis], shell.upper[axis] - point[axis]);
  }
  Walk walk{point, shell, rng};
  for (std::uint64_t radius = 1; radius <= farthest && walk.visits < kMaxVisits; ++radius) {
    shell.radius = radius;
    descend(walk, 0, 0, radius);
    if (walk.found > 0) return walk.chosen;
  }
  // The space is too sparse for a bounded walk. The neighbour in code order shares the first axes.
  const auto& codes = space_.codes();
  const auto after = std::ranges::upper_bound(codes, space_.encode(point));
  return static_cast<std::uint64_t>(after == codes.end() ? 0 : after - codes.begin());
}

std::optional<std::uint64_t> Neighbourhood::in_box(const Point& point, const Bounds& box,
                                                   Rng& rng) const {
  for (int i = 0; i < kDraws; ++i) {
    Point drawn = point;
    for (std::size_t axis = 0; axis < point.size(); ++axis) {
      const auto width = static_cast<std::uint64_t>(box.upper[axis] - box.lower[axis]) + 1;
      if (width == 1) continue;
      drawn[axis] = static_cast<std::uint16_t>(box.lower[axis] + rng.below(width));
    }
    if (drawn == point) continue;
    if (const auto index = space_.index_of(drawn)) return index;
  }
  Walk walk{point, box, rng};
  descend(walk, 0, 0, 0);
  if (walk.found == 0) return std::nullopt;
  return walk.chosen;
}

/// Visits the values of one axis in random order, so that a truncated walk is still a sample.
/// `code` encodes the axes before `axis`; `left` is the radius that they leave.
void Neighbourhood::descend(Walk& walk, std::size_t axis, std::uint64_t code,
                            std::uint64_t left) const {
  const auto& codes = space_.codes();
  if (axis == weights_.size()) {
    if (walk.bounds.radius ? left > 0 : code == space_.encode(walk.point)) return;
    const auto at = std::ranges::lower_bound(codes, code) - codes.begin();
    if (walk.rng.below(++walk.found) == 0) walk.chosen = static_cast<std::uint64_t>(at);
    return;
  }
  std::vector<std::uint16_t> values;
  for (std::uint32_t v = walk.bounds.lower[axis]; v <= walk.bounds.upper[axis]; ++v) {
    const auto value = static_cast<std::uint16_t>(v);
    if (!walk.bounds.radius || gap(value, walk.point[axis]) <= left) values.push_back(value);
  }
  walk.rng.shuffle(values);
  for (const std::uint16_t value : values) {
    if (++walk.visits > kMaxVisits) return;
    const std::uint64_t first = code + value * weights_[axis];
    const auto at = std::ranges::lower_bound(codes, first);
    if (at == codes.end() || *at >= first + weights_[axis]) continue;
    const std::uint64_t spent = walk.bounds.radius ? gap(value, walk.point[axis]) : 0;
    descend(walk, axis + 1, first, left - spent);
  }
}

void Neighbourhood::find_used() {
  const std::vector<std::uint64_t>& codes = space_.codes();
  const std::uint64_t stride = std::max<std::uint64_t>(1, codes.size() / kSampled);
  for (std::size_t axis = 0; axis < weights_.size(); ++axis) {
    std::size_t missing = space_.axes()[axis].size;
    std::vector<bool>& used = used_.emplace_back(missing, false);
    const auto note = [&, weight = weights_[axis], size = missing](std::uint64_t code) {
      const std::uint64_t value = code / weight % size;
      if (!used[value]) --missing;
      used[value] = true;
    };
    for (std::uint64_t i = 0; i < codes.size(); i += stride) note(codes[i]);
    for (std::uint64_t i = 0; i < codes.size() && missing > 0; ++i) note(codes[i]);
  }
}

}  // namespace fatune
