// space.hpp - the valid configs of a kernel for a problem on a device, enumerated.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "space/candidate.hpp"

namespace fatune {

/// A config as positions into the parameters' value lists.
using Point = std::vector<std::uint16_t>;

struct RuledOut {
  std::string rule;  ///< the expression
  std::string why;
  std::uint64_t points = 0;  ///< raw points this rule was the first to exclude
};

/// Immutable. Enumerates up to kMaxEnumerated valid points; a larger space is an error that says
/// what to fix or narrow.
class Space {
 public:
  static constexpr std::uint64_t kMaxEnumerated = 8'000'000;
  static Result<Space> build(KernelRef kernel, const Problem& problem, const DeviceLimits& limits);

  const Kernel& kernel() const { return *kernel_; }
  const Problem& problem() const { return problem_; }
  const std::vector<Parameter>& axes() const { return kernel_->manifest.parameters; }
  std::uint64_t raw_size() const { return raw_size_; }  ///< product of the axes
  std::uint64_t size() const { return codes_.size(); }  ///< valid points
  const std::vector<RuledOut>& ruled_out() const { return ruled_out_; }

  Point point(std::uint64_t index)
      const;  ///< the index-th valid point, in mixed-radix order (last axis fastest)
  std::optional<std::uint64_t> index_of(const Point& point) const;  ///< empty when not valid
  bool contains(const Point& point) const { return index_of(point).has_value(); }
  Config config(const Point& point) const;
  Result<Point> point_of(const Config& config) const;
  Candidate candidate(const Point& point) const;
  std::optional<Point> default_point() const;  ///< empty when the default is ruled out here
  /// Valid points that differ in exactly one axis.
  std::vector<Point> neighbours(const Point& point) const;

 private:
  Space() = default;
  std::uint64_t encode(const Point& point) const;
  KernelRef kernel_;
  Problem problem_;
  std::uint64_t raw_size_ = 0;
  std::vector<std::uint64_t> codes_;  ///< sorted mixed-radix codes of the valid points
  std::vector<RuledOut> ruled_out_;
};

}  // namespace fatune
