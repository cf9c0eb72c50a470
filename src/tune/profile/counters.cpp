// counters.cpp - the table of counters; the raw page of ncu to counters in our units.
#include "tune/profile/counters.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "core/fields.hpp"
#include "core/text.hpp"

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

/// Units of ncu's base and scaled pages, old names and new, to microseconds and bytes.
constexpr std::pair<const char*, double> kUnits[] = {
    {"ns", 1e-3},      {"nsecond", 1e-3}, {"us", 1},       {"usecond", 1}, {"ms", 1e3},
    {"msecond", 1e3},  {"s", 1e6},        {"second", 1e6}, {"sec", 1e6},   {"byte", 1},
    {"byte/block", 1}, {"Kbyte", 1e3},    {"Mbyte", 1e6},  {"Gbyte", 1e9}, {"Kbyte/block", 1e3},
};

double unit_factor(const std::string& unit) {
  for (const auto& [name, factor] : kUnits) {
    if (unit == name) return factor;
  }
  return 1;
}

std::optional<double> number_of(const std::string& field) {
  std::string digits;
  std::copy_if(field.begin(), field.end(), std::back_inserter(digits),
               [](char c) { return c != ',' && c != ' '; });
  const auto value = parse_number(digits);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

class Titles {
 public:
  explicit Titles(std::vector<std::string> names) : names_(std::move(names)) {}
  bool has(const std::string& name) const {
    return std::find(names_.begin(), names_.end(), name) != names_.end();
  }
  /// Empty when there is no such column, or the row ends before it.
  std::string field(const std::vector<std::string>& row, const std::string& name) const {
    const auto found = std::find(names_.begin(), names_.end(), name);
    const auto at = static_cast<std::size_t>(found - names_.begin());
    return at < row.size() ? row[at] : std::string();
  }

 private:
  std::vector<std::string> names_;
};

Counters counters_of(const Titles& titles, const std::vector<std::string>& units,
                     const std::vector<std::string>& row) {
  Counters counters;
  counters.kernel = titles.field(row, "Kernel Name");
  for (const NcuMetric& metric : all_metrics()) {
    const auto value = number_of(titles.field(row, metric.ncu));
    if (value) counters.*metric.field = *value * unit_factor(titles.field(units, metric.ncu));
  }
  return counters;
}

std::vector<std::string> absent_of(const std::vector<std::string>& asked,
                                   const std::vector<Counters>& launches) {
  std::vector<std::string> absent;
  for (const NcuMetric& metric : all_metrics()) {
    if (std::find(asked.begin(), asked.end(), metric.ncu) == asked.end()) continue;
    const bool everywhere =
        std::all_of(launches.begin(), launches.end(),
                    [&](const Counters& counters) { return (counters.*metric.field).has_value(); });
    if (!everywhere) absent.emplace_back(metric.ncu);
  }
  return absent;
}

}  // namespace

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
  std::optional<Titles> titles;
  std::vector<std::string> units;
  NcuTable table;
  for (const std::string& line : split(text, '\n')) {
    if (trim(line).empty() || line.starts_with("==")) continue;
    std::vector<std::string> fields = csv_fields(line);
    if (!titles) {
      Titles candidate(std::move(fields));
      if (candidate.has("ID") && candidate.has("Kernel Name")) titles.emplace(std::move(candidate));
    } else if (titles->field(fields, "ID").empty()) {
      units = std::move(fields);
    } else {
      table.launches.push_back(counters_of(*titles, units, fields));
    }
  }
  if (table.launches.empty()) {
    return environment_error(titles ? "ncu profiled no launch" : "ncu printed no table of metrics");
  }
  table.absent = absent_of(asked, table.launches);
  return table;
}

}  // namespace fatune
