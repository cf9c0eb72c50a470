// counters.hpp - what the hardware counted during a launch, and how ncu asks for it and prints it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/fields_fwd.hpp"
#include "core/result.hpp"
#include "model/kernel/limits.hpp"

namespace fatune {

/// Percentages run from 0 to 100, as ncu gives them; stalls are shares of the time that warps were
/// active.
struct Counters {
  std::string kernel;  ///< entry name

  std::optional<double> time_us;  ///< under replay, with cold caches: never a result
  std::optional<double> tensor_pct, hmma_pct, wgmma_instructions;
  std::optional<double> dram_pct, dram_read_bytes, dram_write_bytes;
  std::optional<double> l2_pct, l2_hit_pct, l1_hit_pct;
  std::optional<double> sm_pct, sm_busy_pct;
  std::optional<double> warps_pct;

  std::optional<double> conflicts_load, conflicts_store;    ///< extra passes of shared memory
  std::optional<double> wavefronts_load, wavefronts_store;  ///< all its passes

  std::optional<double> stall_barrier, stall_long_scoreboard, stall_short_scoreboard;
  std::optional<double> stall_wait, stall_math, stall_mio, stall_lg, stall_membar;
  std::optional<double> stall_gmma, stall_warpgroup_arrive;

  std::optional<double> registers, dynamic_shared_bytes, static_shared_bytes;
  std::optional<double> limit_registers, limit_shared, limit_warps, limit_blocks;
  std::optional<double> waves;
  std::optional<double> spill_loads, spill_stores;  ///< sectors of local memory

  friend bool operator==(const Counters&, const Counters&) = default;
};
void fields(Counters& x, FieldList& f);

/// Extra passes over all passes of shared memory, from 0 to 1; empty when nothing was counted.
std::optional<double> bank_conflict_ratio(const Counters& counters);

struct NcuMetric {
  const char* name;  ///< in our JSON
  const char* ncu;
  std::optional<double> Counters::*field;
  int only_arch = 0;  ///< 90: on sm_90 alone; 0: everywhere
};
std::span<const NcuMetric> all_metrics();
/// The names ncu knows them by, for this architecture.
std::vector<std::string> metric_names(const Arch& arch);

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
