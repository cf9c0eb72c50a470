// ncu_csv.hpp - the raw page that ncu prints as CSV, turned into counters of each launch.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "tune/profile/counters.hpp"

namespace fatune {

/// What one CSV table of ncu holds.
struct NcuTable {
  std::vector<Counters> launches;   ///< in the order in which they ran
  std::vector<std::string> absent;  ///< metrics asked for that some launch has no value of
};
/// Skips ncu's own messages (lines that begin with "=="), reads the row of units under the titles,
/// takes commas out of numbers; "n/a" and "nan" are no values. `asked`: names as ncu knows them.
/// No table, or one without a launch, is an environment error.
Result<NcuTable> parse_ncu_csv(std::string_view text, const std::vector<std::string>& asked);

/// Fields of one line: quoted or not, with doubled quotes inside.
std::vector<std::string> csv_fields(std::string_view line);

}  // namespace fatune
