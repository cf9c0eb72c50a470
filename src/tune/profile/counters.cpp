// counters.cpp: Computes waves and occupancy, and converts ncu's raw page to our units.
#include "tune/profile/counters.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/fields.hpp"
#include "core/lines.hpp"
#include "core/text.hpp"

namespace fatune {
namespace {

bool fits(const StagePlan& stage, const Resources& resources) {
  return !stage.entry.empty() && product(stage.block) == resources.threads &&
         stage.shared_bytes == resources.dynamic_shared_bytes;
}

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

/// Factors of ncu's units, old and new, base and scaled, to microseconds and bytes.
constexpr std::pair<const char*, double> kUnits[] = {
    {"ns", 1e-3},      {"nsecond", 1e-3}, {"us", 1},       {"usecond", 1}, {"ms", 1e3},
    {"msecond", 1e3},  {"s", 1e6},        {"second", 1e6}, {"sec", 1e6},   {"byte", 1},
    {"byte/block", 1}, {"Kbyte", 1e3},    {"Mbyte", 1e6},  {"Gbyte", 1e9}, {"Kbyte/block", 1e3},
};

double unit_factor(const std::string& unit) {
  const auto found = std::ranges::find(kUnits, unit, [](const auto& each) { return each.first; });
  return found == std::end(kUnits) ? 1 : found->second;
}

std::optional<double> number_of(const std::string& field) {
  std::string digits = field;
  std::erase_if(digits, [](char c) { return c == ',' || c == ' '; });
  const auto value = parse_number(digits);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

/// Returns the row's value in a column; empty if the title is missing or the row is too short.
std::string value_of(const std::vector<std::string>& row, const std::vector<std::string>& titles,
                     const std::string& title) {
  const auto at = static_cast<std::size_t>(std::ranges::find(titles, title) - titles.begin());
  return at < row.size() ? row[at] : std::string();
}

Counters counters_of(const std::vector<std::string>& titles, const std::vector<std::string>& units,
                     const std::vector<std::string>& row) {
  Counters counters;
  counters.kernel = value_of(row, titles, "Kernel Name");
  for (const NcuMetric& metric : kMetrics) {
    const auto value = number_of(value_of(row, titles, metric.ncu));
    if (value) counters.*metric.field = *value * unit_factor(value_of(units, titles, metric.ncu));
  }
  return counters;
}

std::vector<std::string> absent_of(const std::vector<std::string>& asked,
                                   const std::vector<Counters>& launches) {
  std::vector<std::string> absent;
  for (const NcuMetric& metric : kMetrics) {
    const bool everywhere = std::ranges::all_of(
        launches, [&](const Counters& each) { return (each.*metric.field).has_value(); });
    if (!everywhere && std::ranges::find(asked, metric.ncu) != asked.end())
      absent.emplace_back(metric.ncu);
  }
  return absent;
}

}  // namespace

std::optional<double> LaunchFacts::waves() const {
  const std::int64_t at_once = resources.blocks_per_sm * sm_count;
  if (at_once == 0 || blocks == 0) return std::nullopt;
  return static_cast<double>(blocks) / static_cast<double>(at_once);
}

std::optional<double> LaunchFacts::wave_use() const {
  const auto count = waves();
  if (!count) return std::nullopt;
  if (*count > 1) return *count / std::ceil(*count);
  return std::min(1.0, static_cast<double>(blocks) / static_cast<double>(sm_count));
}

std::optional<double> LaunchFacts::occupancy() const {
  if (resources.blocks_per_sm == 0 || max_threads_sm == 0) return std::nullopt;
  return static_cast<double>(resources.blocks_per_sm) * resources.threads /
         static_cast<double>(max_threads_sm);
}

LaunchFacts launch_facts(const LaunchPlan& plan, const Resources& resources,
                         const DeviceLimits& limits) {
  LaunchFacts facts;
  facts.stages = plan.stages.size();
  facts.resources = resources;
  facts.sm_count = limits.sm_count;
  facts.max_threads_sm = limits.max_threads_sm;
  auto stage = std::ranges::find_if(plan.stages,
                                    [&](const StagePlan& each) { return fits(each, resources); });
  if (stage == plan.stages.end()) {
    stage = std::ranges::find_if(plan.stages,
                                 [](const StagePlan& each) { return !each.entry.empty(); });
  }
  if (stage == plan.stages.end()) return facts;  // the plan has library stages only
  facts.entry = stage->entry;
  facts.blocks = product(stage->grid);
  return facts;
}

void fields(LaunchFacts& x, FieldList& f) {
  f.record("facts");
  f("entry", x.entry).omitted();
  f("stages", x.stages);
  f("blocks", x.blocks).absent_if(x.blocks == 0);
  f("sm_count", x.sm_count).absent_if(x.sm_count == 0);
  f("resources", x.resources).absent_if(x.resources.threads == 0);
  f.derived("occupancy", x.occupancy()).finite();
  f.derived("waves", x.waves()).finite();
  f.derived("wave_use", x.wave_use()).finite();
}

void fields(Counters& x, FieldList& f) {
  f.record("counters", "Of one launch; only those that were read");
  f("kernel", x.kernel);
  for (const NcuMetric& metric : all_metrics()) f(metric.name, x.*metric.field);
}

std::optional<double> bank_conflict_ratio(const Counters& counters) {
  const bool loads = counters.conflicts_load && counters.wavefronts_load;
  const bool stores = counters.conflicts_store && counters.wavefronts_store;
  if (!loads && !stores) return std::nullopt;
  const double passes =
      (loads ? *counters.wavefronts_load : 0) + (stores ? *counters.wavefronts_store : 0);
  const double extra =
      (loads ? *counters.conflicts_load : 0) + (stores ? *counters.conflicts_store : 0);
  return passes > 0 ? extra / passes : 0;
}

std::span<const NcuMetric> all_metrics() { return kMetrics; }

std::vector<std::string> metric_names(const Arch& arch) {
  std::vector<std::string> names;
  for (const NcuMetric& metric : kMetrics) {
    if (metric.only_arch == 0 || metric.only_arch == arch.number) names.emplace_back(metric.ncu);
  }
  return names;
}

std::vector<std::string> csv_fields(std::string_view line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"') {
      fields.back() += line[++i];
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      fields.emplace_back();
    } else if (c != '\r') {
      fields.back() += c;
    }
  }
  return fields;
}

Result<NcuTable> parse_ncu_csv(std::string_view text, const std::vector<std::string>& asked) {
  std::vector<std::string> titles, units;
  NcuTable table;
  for (const std::string_view line : Lines(text)) {
    if (trim(line).empty() || line.starts_with("==")) continue;
    std::vector<std::string> fields = csv_fields(line);
    if (titles.empty()) {
      const auto has = [&](const char* title) { return std::ranges::count(fields, title) > 0; };
      if (has("ID") && has("Kernel Name")) titles = std::move(fields);
    } else if (value_of(fields, titles, "ID").empty()) {
      units = std::move(fields);
    } else {
      table.launches.push_back(counters_of(titles, units, fields));
    }
  }
  if (table.launches.empty()) {
    return environment_error(titles.empty() ? "ncu printed no table of metrics"
                                            : "ncu profiled no launch");
  }
  table.absent = absent_of(asked, table.launches);
  return table;
}

}  // namespace fatune
