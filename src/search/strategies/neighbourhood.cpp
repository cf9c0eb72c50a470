// neighbourhood.cpp: Draws valid neighbours from a lattice without visiting all of it.
#include "search/strategies/neighbourhood.hpp"

#include <algorithm>

namespace fatune {
namespace {

constexpr int kDraws = 32;                // draws in a box before the tree is walked; chosen
constexpr std::size_t kMaxVisits = 2000;  // branches of one walk; chosen, well under a millisecond
constexpr std::uint64_t kSampled = 4096;  // points tried for the values in use; chosen

std::uint64_t gap(std::uint16_t a, std::uint16_t b) { return a > b ? a - b : b - a; }

}  // namespace

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
