// lattice.cpp: Converts points to codes and indices, and back.
#include "model/space/lattice.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "core/result.hpp"

namespace fatune {

Lattice::Lattice(std::vector<Axis> axes, std::vector<std::uint64_t> codes)
    : axes_(std::move(axes)), codes_(std::move(codes)) {
  FATUNE_CHECK(
      std::adjacent_find(codes_.begin(), codes_.end(), std::greater_equal<>()) == codes_.end(),
      "codes ascend and none repeats");
}

std::uint64_t Lattice::encode(const Point& point) const {
  std::uint64_t code = 0;
  for (std::size_t i = 0; i < point.size(); ++i) code = code * axes_[i].size + point[i];
  return code;
}

Point Lattice::point(std::uint64_t index) const {
  FATUNE_CHECK(index < codes_.size(), "an index must be below the number of valid points");
  std::uint64_t code = codes_[index];
  Point point(axes_.size());
  for (std::size_t i = point.size(); i-- > 0;) {
    const std::uint64_t size = axes_[i].size;
    point[i] = static_cast<std::uint16_t>(code % size);
    code /= size;
  }
  return point;
}

std::optional<std::uint64_t> Lattice::index_of(const Point& point) const {
  if (point.size() != axes_.size()) return std::nullopt;
  for (std::size_t i = 0; i < point.size(); ++i) {
    if (point[i] >= axes_[i].size) return std::nullopt;
  }
  const std::uint64_t code = encode(point);
  const auto found = std::lower_bound(codes_.begin(), codes_.end(), code);
  if (found == codes_.end() || *found != code) return std::nullopt;
  return static_cast<std::uint64_t>(found - codes_.begin());
}

std::vector<Point> Lattice::neighbours(const Point& point) const {
  std::vector<Point> found;
  for (std::size_t axis = 0; axis < point.size(); ++axis) {
    Point other = point;
    for (std::size_t value = 0; value < axes_[axis].size; ++value) {
      if (value == point[axis]) continue;
      other[axis] = static_cast<std::uint16_t>(value);
      if (contains(other)) found.push_back(other);
    }
  }
  return found;
}

}  // namespace fatune
