// physics.cpp: Divides a problem's operations and bytes by the peak rates of a device.
#include "model/results/physics.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/text.hpp"

namespace fatune {
namespace {

struct TensorPeak {
  int arch;
  int flops_per_clock;  ///< of an SM, dense, f16 or bf16 inputs; a multiplication and an addition
                        ///< count as two
};

// From NVIDIA's architecture papers and data sheets: peak dense rate / SMs / boost clock, rounded
// to the power of two that the hardware has. Where products of f16 with fp32 sums run at half rate
// (GeForce), the full rate stands here.
constexpr TensorPeak kPeaks[] = {
    {70, 1024},   // V100: 125 TFLOP/s, 80 SMs, 1.53 GHz
    {72, 1024},   // Xavier: the same cores
    {75, 1024},   // T4: 65 TFLOP/s, 40 SMs, 1.59 GHz
    {80, 2048},   // A100: 312 TFLOP/s, 108 SMs, 1.41 GHz
    {86, 1024},   // A40: 150 TFLOP/s, 84 SMs, 1.74 GHz
    {87, 2048},   // Orin: half of its 85 dense int8 TOP/s, 16 SMs, 1.3 GHz
    {89, 1024},   // L40S: 362 TFLOP/s, 142 SMs, 2.52 GHz
    {90, 4096},   // H100 SXM: 989 TFLOP/s, 132 SMs, 1.83 GHz
    {100, 8192},  // B200: 2250 TFLOP/s, 148 SMs, 1.85 GHz
    {103, 8192},  // B300: taken as B200
    {110, 8192},  // Thor: taken as B200, the most that it can be
    {120, 2048},  // RTX 5090: 1024 from its 419 TFLOP/s, doubled because no SM figure is published
    {121, 2048},  // GB10: taken as the 5090
};

/// fp8 products run at twice the f16 rate from sm_89 on, and as f16 on earlier devices. Tensors of
/// a custom operation may have other types than the problem's.
double rate_factor(const Problem& problem, int arch) {
  return arch >= 89 && (problem.custom() || problem.is(is_fp8)) ? 2 : 1;
}

/// Bytes per clock from the L2 cache to an SM: one 64-byte port (measured rates are below).
constexpr double kL2BytesPerClock = 64;
constexpr double kTransfersPerClock = 2;  // double data rate, as the driver counts memory clocks

std::string missing_fact(const Environment& environment) {
  if (tensor_flops_per_clock(environment.limits.arch.number) == 0)
    return "the peak rate of " + name(environment.limits.arch) + " is not in the table";
  if (environment.limits.sm_count <= 0) return "the device does not tell its number of SMs";
  if (environment.max_sm_clock_mhz <= 0) return "the device does not tell its highest clock";
  if (environment.memory_clock_mhz <= 0) return "the device does not tell its memory clock";
  if (environment.memory_bus_bits <= 0) return "the device does not tell its memory bus";
  if (environment.l2_bytes <= 0) return "the device does not tell the size of its L2 cache";
  return "";
}

struct Work {
  double bytes, operations;
  bool cached;  ///< in a layer the bytes come from the L2 cache
};

/// Counts operations of visible pairs, and q, k and v without rows that see no key and keys that
/// none sees.
Work work_of(const Attention& p) {
  double queries = static_cast<double>(query_bytes(p).value);
  queries *= 1 - unseeing_rows(p) / static_cast<double>(p.seq_q);
  const double pairs = 2 * static_cast<double>(p.batch * p.heads) * visible_pairs(p);
  const double keys = static_cast<double>((key_bytes(p) + value_bytes(p)).value) * seen_keys(p) /
                      static_cast<double>(p.seq_kv);
  return {queries + keys, pairs * static_cast<double>(p.head_dim + p.value_columns()),
          p.seq_q == p.seq_kv};
}

Work work_of(const CustomProblem& p) {
  return {static_cast<double>(p.bytes_read), static_cast<double>(p.flops), true};
}

/// Formats operations: "68.7 GFLOP", "1.1 TFLOP".
std::string work_text(double operations) {
  if (operations < 1e12) return fmt::format("{:.3g} GFLOP", operations * 1e-9);
  return fmt::format("{:.3g} TFLOP", operations * 1e-12);
}

std::string rate_text(double bytes, double bytes_per_us, std::string_view from) {
  return fmt::format("{} from {} at {:.1f} TB/s",
                     describe(Bytes(static_cast<std::uint64_t>(bytes))), from, bytes_per_us * 1e-6);
}

const Floor& higher(const Floor& a, const Floor& b) { return a.time < b.time ? b : a; }

}  // namespace

int tensor_flops_per_clock(int arch) {
  for (const TensorPeak& peak : kPeaks) {
    if (peak.arch == arch) return peak.flops_per_clock;
  }
  return 0;
}

PeakRates peak_rates(const Problem& problem, const Environment& environment) {
  PeakRates peak;
  peak.unknown = missing_fact(environment);
  if (!peak.unknown.empty()) return peak;
  const int arch = environment.limits.arch.number;
  // SM clocks in a microsecond, summed over the device.
  const double clocks = static_cast<double>(environment.limits.sm_count) *
                        static_cast<double>(environment.max_sm_clock_mhz);
  const double in_a_clock = tensor_flops_per_clock(arch) * rate_factor(problem, arch);
  peak.flops = clocks * in_a_clock;
  peak.flops_origin =
      fmt::format("{} SMs x {:.0f} operations a clock x {} MHz", environment.limits.sm_count,
                  in_a_clock, environment.max_sm_clock_mhz);
  peak.memory_bytes =
      environment.memory_bus_bits / 8.0 * environment.memory_clock_mhz * kTransfersPerClock;
  peak.memory_origin =
      fmt::format("{}-bit bus x {:.0f} transfers a clock x {} MHz", environment.memory_bus_bits,
                  kTransfersPerClock, environment.memory_clock_mhz);
  peak.cache_bytes = clocks * kL2BytesPerClock;
  peak.cache_origin =
      fmt::format("{} SMs x {:.0f} bytes a clock x {} MHz", environment.limits.sm_count,
                  kL2BytesPerClock, environment.max_sm_clock_mhz);
  return peak;
}

const Floor& PhysicsFloor::of(Time time) const {
  if (time == Time::kInLayer) return in_layer;
  return time == Time::kCold ? cold : hot;
}

PhysicsFloor physics_floor(const Problem& problem, const Environment& environment) {
  PhysicsFloor floor;
  const PeakRates peak = peak_rates(problem, environment);
  floor.unknown = peak.unknown;
  if (!floor.unknown.empty()) return floor;
  const auto [bytes, operations, cached] =
      problem.custom() ? work_of(*problem.custom()) : work_of(problem.as_attention());
  const Floor arithmetic{
      Micros(operations / peak.flops),
      fmt::format("{} at {:.0f} TFLOP/s", work_text(operations), peak.flops * 1e-6)};

  const double dram = peak.memory_bytes, cache = peak.cache_bytes;
  const double excess = std::max(0.0, bytes - static_cast<double>(environment.l2_bytes));
  const Floor from_dram{Micros(bytes / dram), rate_text(bytes, dram, "memory")};
  const Floor from_cache{Micros(bytes / cache), rate_text(bytes, cache, "the L2 cache")};
  const Floor beyond_cache{Micros(excess / dram), rate_text(excess, dram, "memory")};
  floor.hot = higher(arithmetic, higher(from_cache, beyond_cache));
  floor.cold = higher(arithmetic, from_dram);
  floor.in_layer = cached ? floor.hot : floor.cold;
  return floor;
}

std::string physics_finding(std::string_view which, Micros time, const Floor& floor) {
  if (time.value >= floor.time.value) return "";
  return fmt::format("{} {} is less than any right kernel needs, {} ({})", describe(time), which,
                     describe(floor.time), floor.why);
}

}  // namespace fatune
