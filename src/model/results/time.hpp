// time.hpp: Defines the kinds of times, and the times by which an objective searches and ranks.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

#include "core/fields_fwd.hpp"
#include "core/result.hpp"

namespace fatune {

/// A way to time a kernel (docs/measuring.md).
enum class Time {
  kInLayer,  ///< between the two matrix products around attention
  kPlain,    ///< behind plain launches of the kernel itself
  kHot,      ///< behind launches of the kernel itself, chained where the kernel asks for it
  kCold      ///< after a flush of the L2 cache
};
inline constexpr std::array kAllTimes = {Time::kInLayer, Time::kPlain, Time::kHot, Time::kCold};
std::string_view name(Time time);  ///< "in_layer", "plain", "hot", "cold"
std::string describe(Time time);   ///< "in layer", "plain", ...
Result<Time> parse_time(std::string_view text);
FieldWord<Time> word_of(const Time*);

/// A sweep minimises the time of its objective. It maximises a score, which weighs speed and use
/// of the device.
enum class Objective { kInLayer, kHot, kCold, kScore };
std::string_view name(Objective objective);  ///< "in_layer", "hot", "cold", "score"
Result<Objective> parse_objective(std::string_view text);
FieldWord<Objective> word_of(const Objective*);

/// Returns the time that a search minimises. A candidate without a time in a layer counts with its
/// hot time.
Time search_time(Objective objective);
/// Returns the times that may rank the finals: the first one that all contestants have does. The
/// objectives "hot" and "score" rank by plain launches, as programs launch plainly.
std::span<const Time> ranking_times(Objective objective);

}  // namespace fatune
