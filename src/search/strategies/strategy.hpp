// strategy.hpp - the ask / tell interface of every search.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "model/space/lattice.hpp"

namespace fatune {

/// An observation: the cost of a point that the strategy asked for. Lower cost is better; a failure
/// has none.
struct Told {
  Point point;
  std::optional<double> cost;  ///< microseconds, or another objective turned so that less is better
  bool duplicate = false;      ///< same machine code as an earlier point, whose cost is repeated
};

/// Decides what to try next. Deterministic: the same seed, space and tells give the same asks.
/// Never proposes a point twice.
class Strategy {
 public:
  virtual ~Strategy() = default;
  virtual std::string_view name() const = 0;
  /// Up to `count` new points, not necessarily told yet; empty when the space is exhausted.
  virtual std::vector<Point> ask(std::size_t count) = 0;
  virtual void tell(const Told& told) = 0;
  /// Max. useful number of points in flight, at least 1; further points would be chosen with too
  /// few observations.
  virtual std::size_t most_in_flight() const { return std::numeric_limits<std::size_t>::max(); }
  /// At most `count` new points that are likely to be asked soon, the likeliest first, for
  /// speculative compilation. A guess that changes no later ask; may be empty.
  virtual std::vector<Point> likely(std::size_t /*count*/) const { return {}; }
};

struct StrategyOptions {
  std::uint64_t seed = 42;
  std::uint64_t budget = 150;     ///< evaluations the run may use; shapes populations
  std::vector<Point> start = {};  ///< tried first: default config, known-good ones
  /// Each new point differs in exactly one axis from one asked before, while there is such a point.
  bool one_lever = false;
};

/// Names that make_strategy() knows, with one line of explanation each, in the order of the help
/// text.
struct StrategyInfo {
  std::string_view name, summary;
  bool keeps_one_lever = false;  ///< knows StrategyOptions::one_lever; the others ignore it
};
std::vector<StrategyInfo> strategies();
/// `space` must outlive the strategy. An unknown name is a usage error with the nearest known one.
Result<std::unique_ptr<Strategy>> make_strategy(std::string_view name, const Lattice& space,
                                                const StrategyOptions& options);

}  // namespace fatune
