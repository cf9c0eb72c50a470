// counters.hpp - what the hardware counted during one launch; a counter that was not read is empty.
#pragma once

#include <optional>
#include <string>

#include "core/fields_fwd.hpp"

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

}  // namespace fatune
