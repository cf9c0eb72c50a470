// lattice.hpp: Holds the valid points of a space as sorted codes for search strategies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fatune {

/// A config as indices into the parameters' value lists.
using Point = std::vector<std::uint16_t>;

struct Axis {
  std::string name;
  std::size_t size = 0;  ///< number of values, at least one
  bool ordinal = true;   ///< numbers are ordered; words and booleans are not
};

/// Immutable. Points are numbered in mixed-radix order, the last axis fastest.
class Lattice {
 public:
  Lattice() = default;
  /// `codes` are the mixed-radix codes of the valid points, ascending and distinct. The product of
  /// the axes' sizes must fit 64 bits.
  Lattice(std::vector<Axis> axes, std::vector<std::uint64_t> codes);

  const std::vector<Axis>& axes() const { return axes_; }
  std::uint64_t size() const { return codes_.size(); }
  /// Mixed-radix codes of the valid points, ascending: the index-th belongs to point(index).
  const std::vector<std::uint64_t>& codes() const { return codes_; }
  Point point(std::uint64_t index) const;                           ///< the index-th valid point
  std::optional<std::uint64_t> index_of(const Point& point) const;  ///< empty if not valid
  bool contains(const Point& point) const { return index_of(point).has_value(); }
  /// Returns the code of any point within the axes, valid or not.
  std::uint64_t encode(const Point& point) const;
  /// Returns the valid points that differ in exactly one axis.
  std::vector<Point> neighbours(const Point& point) const;

 private:
  std::vector<Axis> axes_;
  std::vector<std::uint64_t> codes_;
};

}  // namespace fatune
