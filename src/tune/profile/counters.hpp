// counters.hpp: Describes a launch by plan and hardware counters, and reads counters from ncu.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/fields_fwd.hpp"
#include "core/result.hpp"
#include "model/kernel/candidate.hpp"
#include "model/results/measurement.hpp"

namespace fatune {

struct LaunchFacts {
  std::string entry;  ///< the stage of the resources
  std::size_t stages = 1;
  Resources resources;
  std::int64_t blocks = 0;  ///< of the grid
  std::int64_t sm_count = 0;
  std::int64_t max_threads_sm = 0;

  /// Blocks of the grid over resident blocks of the device; empty if unknown.
  std::optional<double> waves() const;
  /// Share of the multiprocessors' time that blocks fill, from 0 to 1. For example, 1.1 waves take
  /// the time of 2 and fill 55 %. A grid below one wave first places one block per multiprocessor.
  std::optional<double> wave_use() const;
  /// Resident threads per multiprocessor over its maximum, from 0 to 1.
  std::optional<double> occupancy() const;
};
/// Describes the stage whose threads and shared memory match the resources, or else the first stage
/// that is not of a library.
LaunchFacts launch_facts(const LaunchPlan& plan, const Resources& resources,
                         const DeviceLimits& limits);
void fields(LaunchFacts& x, FieldList& f);

/// Hardware counters of a launch. Percentages run from 0 to 100, as ncu gives them; stalls are
/// shares of the time that warps were active.
struct Counters {
  std::string kernel;  ///< entry name

  std::optional<double> time_us;  ///< under replay, with cold caches: never a result
  std::optional<double> tensor_pct, hmma_pct, wgmma_instructions;
  std::optional<double> dram_pct, dram_read_bytes, dram_write_bytes;
  std::optional<double> l2_pct, l2_hit_pct, l1_hit_pct;
  std::optional<double> sm_pct, sm_busy_pct;
  std::optional<double> warps_pct;

  std::optional<double> conflicts_load, conflicts_store;    ///< extra passes of shared memory
  std::optional<double> wavefronts_load, wavefronts_store;  ///< all passes of shared memory

  std::optional<double> stall_barrier, stall_long_scoreboard, stall_short_scoreboard;
  std::optional<double> stall_wait, stall_math, stall_mio, stall_lg, stall_membar;
  std::optional<double> stall_gmma, stall_warpgroup_arrive;

  std::optional<double> registers, dynamic_shared_bytes, static_shared_bytes;
  std::optional<double> limit_registers, limit_shared, limit_warps, limit_blocks;
  std::optional<double> waves;
  std::optional<double> spill_loads, spill_stores;  ///< sectors of local memory
};
void fields(Counters& x, FieldList& f);

/// Returns extra passes over all passes of shared memory, from 0 to 1; empty if nothing was
/// counted.
std::optional<double> bank_conflict_ratio(const Counters& counters);

struct NcuMetric {
  const char* name;  ///< name in our JSON
  const char* ncu;
  std::optional<double> Counters::*field;
  int only_arch = 0;  ///< 90: sm_90 only; 0: all architectures
};
std::span<const NcuMetric> all_metrics();
/// Returns the metric names of ncu for this architecture.
std::vector<std::string> metric_names(const Arch& arch);

/// The content of one CSV table of ncu.
struct NcuTable {
  std::vector<Counters> launches;   ///< in the order of execution
  std::vector<std::string> absent;  ///< requested metrics that some launch lacks
};
/// Parses a table with units in the second row. Skips ncu's messages (lines that begin with "==");
/// removes commas from numbers; "n/a" and "nan" are no values. `asked` has names of ncu. A missing
/// table, or one without a launch, is an environment error.
Result<NcuTable> parse_ncu_csv(std::string_view text, const std::vector<std::string>& asked);

/// Splits a line into fields, quoted or not, with doubled quotes inside.
std::vector<std::string> csv_fields(std::string_view line);

}  // namespace fatune
