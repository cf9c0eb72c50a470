// metrics.cpp - the table of counters.
#include "tune/profile/metrics.hpp"

namespace fatune {
namespace {

using C = Counters;

#define FATUNE_STALL(reason) "smsp__warp_issue_stalled_" reason "_per_warp_active.pct"
#define FATUNE_SHARED(part, op) "l1tex__data_" part "_mem_shared_op_" op ".sum"

constexpr NcuMetric kMetrics[] = {
    {"time_us", "gpu__time_duration.sum", &C::time_us},
    {"tensor_pct", "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active",
     &C::tensor_pct},
    {"hmma_pct", "sm__pipe_tensor_op_hmma_cycles_active.avg.pct_of_peak_sustained_active",
     &C::hmma_pct},
    {"wgmma_instructions", "sm__inst_executed_pipe_tensor_op_gmma.sum", &C::wgmma_instructions, 90},
    {"dram_pct", "dram__throughput.avg.pct_of_peak_sustained_elapsed", &C::dram_pct},
    {"dram_read_bytes", "dram__bytes_read.sum", &C::dram_read_bytes},
    {"dram_write_bytes", "dram__bytes_write.sum", &C::dram_write_bytes},
    {"l2_pct", "lts__throughput.avg.pct_of_peak_sustained_elapsed", &C::l2_pct},
    {"l2_hit_pct", "lts__t_sector_hit_rate.pct", &C::l2_hit_pct},
    {"l1_hit_pct", "l1tex__t_sector_hit_rate.pct", &C::l1_hit_pct},
    {"sm_pct", "sm__throughput.avg.pct_of_peak_sustained_elapsed", &C::sm_pct},
    {"sm_busy_pct", "sm__instruction_throughput.avg.pct_of_peak_sustained_active", &C::sm_busy_pct},
    {"warps_pct", "sm__warps_active.avg.pct_of_peak_sustained_active", &C::warps_pct},
    {"conflicts_load", FATUNE_SHARED("bank_conflicts_pipe_lsu", "ld"), &C::conflicts_load},
    {"conflicts_store", FATUNE_SHARED("bank_conflicts_pipe_lsu", "st"), &C::conflicts_store},
    {"wavefronts_load", FATUNE_SHARED("pipe_lsu_wavefronts", "ld"), &C::wavefronts_load},
    {"wavefronts_store", FATUNE_SHARED("pipe_lsu_wavefronts", "st"), &C::wavefronts_store},
    {"stall_barrier", FATUNE_STALL("barrier"), &C::stall_barrier},
    {"stall_long_scoreboard", FATUNE_STALL("long_scoreboard"), &C::stall_long_scoreboard},
    {"stall_short_scoreboard", FATUNE_STALL("short_scoreboard"), &C::stall_short_scoreboard},
    {"stall_wait", FATUNE_STALL("wait"), &C::stall_wait},
    {"stall_math", FATUNE_STALL("math_pipe_throttle"), &C::stall_math},
    {"stall_mio", FATUNE_STALL("mio_throttle"), &C::stall_mio},
    {"stall_lg", FATUNE_STALL("lg_throttle"), &C::stall_lg},
    {"stall_membar", FATUNE_STALL("membar"), &C::stall_membar},
    {"stall_gmma", FATUNE_STALL("gmma"), &C::stall_gmma, 90},
    {"stall_warpgroup_arrive", FATUNE_STALL("warpgroup_arrive"), &C::stall_warpgroup_arrive, 90},
    {"registers", "launch__registers_per_thread", &C::registers},
    {"dynamic_shared_bytes", "launch__shared_mem_per_block_dynamic", &C::dynamic_shared_bytes},
    {"static_shared_bytes", "launch__shared_mem_per_block_static", &C::static_shared_bytes},
    {"limit_registers", "launch__occupancy_limit_registers", &C::limit_registers},
    {"limit_shared", "launch__occupancy_limit_shared_mem", &C::limit_shared},
    {"limit_warps", "launch__occupancy_limit_warps", &C::limit_warps},
    {"limit_blocks", "launch__occupancy_limit_blocks", &C::limit_blocks},
    {"waves", "launch__waves_per_multiprocessor", &C::waves},
    {"spill_loads", "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum", &C::spill_loads},
    {"spill_stores", "l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum", &C::spill_stores},
};

#undef FATUNE_STALL
#undef FATUNE_SHARED

}  // namespace

std::span<const NcuMetric> all_metrics() { return kMetrics; }

std::vector<std::string> metric_names(const Arch& arch) {
  std::vector<std::string> names;
  for (const NcuMetric& metric : kMetrics) {
    if (metric.only_arch == 0 || metric.only_arch == arch.number) names.emplace_back(metric.ncu);
  }
  return names;
}

}  // namespace fatune
