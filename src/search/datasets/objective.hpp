// objective.hpp - the values of an objective as a file has them to costs of which less is better.
#pragma once

#include <string_view>

#include "search/datasets/recording.hpp"

namespace fatune {

/// Is more of it better? Rates ("GFLOP/s", "GB/s", "GFLOPS/W"), "score", "fitness" and their like.
bool more_is_better(std::string_view objective);

/// Entries hold the file's values; afterwards costs. What is not finite, and times that are not
/// above zero, become failures, and the remarks say how many.
void settle_costs(Recording& recording);

/// "ms" of "milliseconds", "Microseconds", "miliseconds" (as some files spell it) and so on; an
/// unknown word as it is.
std::string_view short_unit(std::string_view unit);
/// Of a unit of time, short or long; 0 for anything else.
double seconds_per(std::string_view unit);

}  // namespace fatune
