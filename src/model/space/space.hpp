// space.hpp: Enumerates the valid configs of a kernel for a problem on a device.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "model/kernel/candidate.hpp"
#include "model/space/lattice.hpp"

namespace fatune {

struct RuledOut {
  std::string rule;  ///< the expression
  std::string why;
  std::uint64_t points = 0;  ///< raw points that this rule is the first to exclude
};

/// Immutable. Enumerates up to kMaxEnumerated valid points; a larger space is an error that names
/// what to fix or narrow.
class Space {
 public:
  static constexpr std::uint64_t kMaxEnumerated = 8'000'000;
  static Result<Space> build(KernelRef kernel, const Problem& problem, const DeviceLimits& limits);

  const Kernel& kernel() const { return *kernel_; }
  const Problem& problem() const { return problem_; }
  const std::vector<Parameter>& axes() const { return kernel_->manifest.parameters; }
  /// Number of configs before constraints and limits, counting only the parameters that are
  /// choices.
  std::uint64_t raw_size() const { return raw_size_; }
  std::uint64_t size() const { return lattice_.size(); }  ///< valid points
  /// Number of values that the enumeration tried, over all parameters.
  std::uint64_t steps() const { return steps_; }
  const Lattice& lattice() const { return lattice_; }
  const std::vector<RuledOut>& ruled_out() const { return ruled_out_; }

  Point point(std::uint64_t index) const { return lattice_.point(index); }
  std::optional<std::uint64_t> index_of(const Point& point) const {
    return lattice_.index_of(point);
  }
  bool contains(const Point& point) const { return lattice_.contains(point); }
  Config config(const Point& point) const;
  Result<Point> point_of(const Config& config) const;
  Candidate candidate(const Point& point) const;
  std::optional<Point> default_point() const;  ///< empty if the default config is excluded here
  std::vector<Point> neighbours(const Point& point) const { return lattice_.neighbours(point); }

 private:
  Space() = default;
  KernelRef kernel_;
  Problem problem_;
  std::uint64_t raw_size_ = 0;
  std::uint64_t steps_ = 0;
  Lattice lattice_;
  std::vector<RuledOut> ruled_out_;
};

}  // namespace fatune
