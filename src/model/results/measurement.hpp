// measurement.hpp: Defines the observations of a candidate: times, accuracy, resources, conditions.
// An environment names the device, driver and compiler behind them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/fields_fwd.hpp"
#include "core/result.hpp"
#include "model/kernel/gate_table.hpp"
#include "model/kernel/limits.hpp"
#include "model/results/time.hpp"

namespace fatune {

/// Result kind of a candidate; data, never an exception.
enum class Outcome {
  kInfeasible,
  kCompileError,
  kDuplicate,
  kLaunchError,
  kWrongResult,
  kTimeout,
  kCrashed,
  kPruned,
  kMeasured,
  kUnavailable  ///< a requirement of an external implementation is missing on this machine
};
inline constexpr std::array kAllOutcomes = {
    Outcome::kInfeasible,  Outcome::kCompileError, Outcome::kDuplicate, Outcome::kLaunchError,
    Outcome::kWrongResult, Outcome::kTimeout,      Outcome::kCrashed,   Outcome::kPruned,
    Outcome::kMeasured,    Outcome::kUnavailable};

std::string_view name(Outcome outcome);  ///< "measured", "compile_error", ...
Result<Outcome> parse_outcome(std::string_view text);
FieldWord<Outcome> word_of(const Outcome*);

/// Prefix of the reason if an edge problem refused a config; its name and ": " follow.
inline constexpr const char* kEdgeProblem = "edge problem ";

/// Returns the gate behind an outcome, also for an edge problem. Gates are "constraints",
/// "compilation", "launch", "state" (the machine code could keep state), or the gate that a wrong
/// result's reason begins with. Empty for outcomes without a gate.
std::string gate_of(Outcome outcome, std::string_view reason);

/// A part of an output with its own error statistics.
struct ErrorRegion {
  std::string where;            ///< "rows 448 to 511", "columns 0 to 31", "batch 0, head 3"
  std::int64_t elements = 0;    ///< elements of the region
  std::int64_t wrong = 0;       ///< beyond the limit of a single element, or not finite
  std::int64_t not_finite = 0;  ///< NaN or infinity
  double largest = 0;           ///< largest |out - ref| among finite elements
  double limit = 0;             ///< limit of a single element; 0: single elements are not judged

  friend bool operator==(const ErrorRegion&, const ErrorRegion&) = default;
};

/// Summary of a list of samples; microseconds per launch.
struct Timing {
  double median_us = 0;
  double q1_us = 0, q3_us = 0, min_us = 0;
  double sem_relative = 0;  ///< standard error of the median over the median
  std::int64_t samples = 0;
  std::int64_t launches_per_sample = 1;
  bool killed_early = false;             ///< stopped early: clearly slower than the best
  std::optional<double> ci95_low_us{};   ///< bootstrap interval of the median; final phase only
  std::optional<double> ci95_high_us{};  ///< upper end

  friend bool operator==(const Timing&, const Timing&) = default;
};

/// Verdict of a checking tool on a kernel that ran under it.
struct ToolVerdict {
  std::string tool;    ///< "memcheck", "racecheck", "synccheck"
  std::string result;  ///< "passed", "failed", "not_run"
  std::string reason;  ///< for failed and not_run

  friend bool operator==(const ToolVerdict&, const ToolVerdict&) = default;
};

/// Lists the tools that a winner runs under.
const std::vector<std::string>& sanitizer_tools();
/// Returns "not_run" with this reason for every tool.
std::vector<ToolVerdict> sanitizer_not_run(const std::string& reason);

/// Errors of the log-sum-exps, if the problem wants them.
struct LseErrors {
  double margin = 0;  ///< worst error / limit
  double max_abs_diff = 0;

  friend bool operator==(const LseErrors&, const LseErrors&) = default;
};

/// A gate that a kernel passed, and how many of its checks; edge problems have several.
struct PassedGate {
  GateId gate = GateId::kLaunch;
  std::int64_t passed = 1, of = 1;

  friend bool operator==(const PassedGate&, const PassedGate&) = default;
};
void fields(PassedGate& x, FieldList& f);

struct Verification {
  bool passed = false;
  bool skipped = false;      ///< --skip-correctness
  double margin = 0;         ///< worst value / limit over all rules; below 1 passes
  std::string worst_rule{};  ///< rule that gave the margin
  double max_abs_diff = 0;
  double mean_abs_diff = 0;
  double relative_l2 = 0;
  std::optional<double> method_l2{};  ///< fp8 only: relative_l2 against unquantized inputs
  bool allclose_1e3 = false;          ///< allclose(rtol 1e-3, atol 1e-3), reported only
  std::optional<LseErrors> lse{};     ///< included in the margin
  int seeds = 0;
  std::vector<PassedGate> gates{};       ///< in order
  std::vector<std::string> not_run{};    ///< "physics: the device does not tell its memory clock"
  std::string precision_note{};          ///< if the margin is far above that of the default config
  std::vector<ToolVerdict> sanitizer{};  ///< for a winner

  friend bool operator==(const Verification&, const Verification&) = default;
};
/// Removes a gate from the passed ones, because it did not judge this kernel.
void drop_gate(GateId gate, Verification& verification);
/// Stores the verdicts of compute-sanitizer; a failed tool fails the verification.
void take_verdicts(std::vector<ToolVerdict> verdicts, Verification& verification);
/// Describes the first failed tool, "compute-sanitizer's racecheck failed: ..."; empty if none
/// failed.
std::string failed_tool(const Verification& verification);

struct Resources {
  int registers = 0;
  std::int64_t static_shared_bytes = 0;
  std::int64_t dynamic_shared_bytes = 0;
  std::int64_t spill_store_bytes = 0, spill_load_bytes = 0, stack_bytes = 0;
  int threads = 0;
  int blocks_per_sm = 0;                ///< 0: unknown
  std::int64_t blocks = 0;              ///< of the grid; 0: unknown
  std::vector<std::string> warnings{};  ///< compiler warnings that matter (C75xx, spills)

  friend bool operator==(const Resources&, const Resources&) = default;
};

/// State of the GPU while a measurement ran.
struct Conditions {
  int sm_clock_mhz_min = 0, sm_clock_mhz_max = 0;
  int memory_clock_mhz = 0;
  int temperature_c = 0;
  double power_w = 0;
  std::uint64_t throttle_reasons = 0;  ///< NVML bits, or-ed
  std::int64_t discarded_samples = 0;  ///< because of throttling
  int other_processes = 0;             ///< that computed on the GPU in the final phase

  friend bool operator==(const Conditions&, const Conditions&) = default;
};

struct Environment {
  std::string device_name;  ///< "NVIDIA H200"
  std::string device_uuid;
  std::string driver;       ///< "580.159.04"
  std::string cuda_driver;  ///< "13.0"
  std::string nvrtc;        ///< "13.0.88" or "13.0"
  std::string fatune;       ///< version
  std::string host;         ///< kernel and CPU model, no host name
  int cpu_cores = 0;
  DeviceLimits limits;
  std::int64_t l2_bytes = 0;
  int memory_bus_bits = 0, memory_clock_mhz = 0, max_sm_clock_mhz = 0;
  double power_limit_w = 0;  ///< enforced by the driver; 0: unknown
  bool recorded = false;     ///< a committed journal replaces the device

  friend bool operator==(const Environment&, const Environment&) = default;
};

/// A GPU before any work runs on it.
struct ListedDevice : Environment {
  std::string unfit;  ///< why final phases on this GPU would be disturbed; empty: no reason known
};

/// Outcome of a kernel on the device, with all observations.
struct Observation {
  Outcome outcome = Outcome::kMeasured;
  std::string reason;  ///< reason of every outcome except measured
  /// Times are defined in docs/measuring.md. Hot launches follow launches of the same kind: a
  /// chained kernel begins while its predecessor ends.
  std::optional<Timing> in_layer, plain, cold, hot;
  std::optional<Verification> verification;
  std::optional<Resources> resources;
  std::optional<Conditions> conditions;

  friend bool operator==(const Observation&, const Observation&) = default;
};
std::optional<Timing>& timing_of(Observation& record, Time time);
const std::optional<Timing>& timing_of(const Observation& record, Time time);
/// Returns what a search under this objective minimises: hot time for a record without a time in a
/// layer.
const std::optional<Timing>& searched_timing(const Observation& record, Time time);

void fields(ErrorRegion& x, FieldList& f);
void fields(Timing& x, FieldList& f);
void fields(ToolVerdict& x, FieldList& f);  ///< all members except `tool`
void fields(LseErrors& x, FieldList& f);
void fields(Verification& x, FieldList& f);
void fields(Resources& x, FieldList& f);
void fields(Conditions& x, FieldList& f);
void fields(Environment& x, FieldList& f);
void fields(ListedDevice& x, FieldList& f);
/// Lists the parts of an environment: the GPU and its machine.
void device_fields(Environment& x, FieldList& f);
void host_fields(Environment& x, FieldList& f);
/// Lists an observation's fields inside its record: outcome and reason; the times; the times and
/// the remaining fields.
void outcome_fields(Observation& x, FieldList& f);
void time_fields(Observation& x, FieldList& f);
void measured_fields(Observation& x, FieldList& f);

/// Names the set bits: "sw_power_cap", "hw_thermal", ...
std::vector<std::string> throttle_names(std::uint64_t reasons);

}  // namespace fatune
