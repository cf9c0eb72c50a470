// measurement.cpp: Lists the fields of observations, and names their values.
#include "model/results/measurement.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "core/fields.hpp"

namespace fatune {
namespace {

/// In the order of Time.
constexpr std::array kTimings = {&Observation::in_layer, &Observation::plain, &Observation::hot,
                                 &Observation::cold};

/// A gate that did not run, as an object: "physics: the device does not tell its memory clock".
void not_run_fields(std::string& text, FieldList& f) {
  struct Parts {
    std::string name, reason;
  };
  const std::size_t colon = text.find(": ");
  const auto parts = std::make_shared<Parts>(
      Parts{text.substr(0, colon), colon == std::string::npos ? "" : text.substr(colon + 2)});
  f("name", parts->name).required();
  f("reason", parts->reason);
  f.rule("", [&text, parts] {
    text = parts->reason.empty() ? parts->name : parts->name + ": " + parts->reason;
    return std::string();
  });
}

}  // namespace

std::string_view name(Outcome outcome) {
  constexpr std::array<std::string_view, kAllOutcomes.size()> kNames = {
      "infeasible", "compile_error", "duplicate", "launch_error", "wrong_result",
      "timeout",    "crashed",       "pruned",    "measured",     "unavailable"};
  return kNames.at(static_cast<std::size_t>(outcome));
}

Result<Outcome> parse_outcome(std::string_view text) {
  for (const Outcome outcome : kAllOutcomes) {
    if (name(outcome) == text) return outcome;
  }
  return file_error(fmt::format("outcome '{}' is unknown", text));
}

std::string gate_of(Outcome outcome, std::string_view reason) {
  if (const std::size_t end = reason.find(": ");
      reason.starts_with(kEdgeProblem) && end != std::string_view::npos)
    reason.remove_prefix(end + 2);
  const std::string_view begins = reason.substr(0, reason.find(':'));
  switch (outcome) {
    case Outcome::kInfeasible:
      return std::string(name(GateId::kConstraints));
    case Outcome::kCompileError:
      return std::string(begins == name(GateId::kState) ? begins : name(GateId::kCompilation));
    case Outcome::kLaunchError:
    case Outcome::kTimeout:
    case Outcome::kCrashed:
      return std::string(name(GateId::kLaunch));
    case Outcome::kWrongResult:
      return std::string(begins);
    default:
      return "";
  }
}

void drop_gate(GateId gate, Verification& verification) {
  std::erase_if(verification.gates, [&](const PassedGate& each) { return each.gate == gate; });
}

void take_verdicts(std::vector<ToolVerdict> verdicts, Verification& verification) {
  verification.sanitizer = std::move(verdicts);
  if (!failed_tool(verification).empty()) verification.passed = false;
}

std::string failed_tool(const Verification& verification) {
  const auto failed =
      std::ranges::find(verification.sanitizer, std::string("failed"), &ToolVerdict::result);
  if (failed == verification.sanitizer.end()) return "";
  const std::string text = "compute-sanitizer's " + failed->tool + " failed";
  return failed->reason.empty() ? text : text + ": " + failed->reason;
}

FieldWord<Outcome> word_of(const Outcome*) { return {parse_outcome, kAllOutcomes}; }

void fields(ErrorRegion& x, FieldList& f) {
  f.record("error_region", "How wrong a part of an output is");
  f("where", x.where).required();
  f("elements", x.elements).required();
  f("wrong", x.wrong).required().about("Beyond the limit of a single element, or not finite");
  f("not_finite", x.not_finite).omitted();
  f("largest", x.largest).about("Distance from what is right, among finite elements");
  f("limit", x.limit).omitted().about("Of that distance");
}

void fields(Timing& x, FieldList& f) {
  f.record("times", "In microseconds a launch");
  f("median_us", x.median_us).required().finite().positive();
  f.pair("ci95_us", x.ci95_low_us, x.ci95_high_us).about("Bootstrap interval of the median");
  f.pair("iqr_us", x.q1_us, x.q3_us).about("Quartiles").absent_if(x.q3_us == 0);
  f("min_us", x.min_us).finite().omitted();
  f("sem_relative", x.sem_relative).omitted().about("Standard error of the median over the median");
  f("samples", x.samples).at_least(1).absent_if(x.samples == 0);
  f("launches_per_sample", x.launches_per_sample).at_least(1).absent_if(x.samples == 0);
  f("killed_early", x.killed_early).omitted().about("Clearly slower than the best");
}

void fields(ToolVerdict& x, FieldList& f) {
  f("result", x.result).required().one_of("passed, failed, not_run");
  f("reason", x.reason).omitted();
}

void fields(LseErrors& x, FieldList& f) {
  f("margin", x.margin).required();
  f("max_abs_diff", x.max_abs_diff).required();
}

void fields(PassedGate& x, FieldList& f) {
  f.record("passed_gate", "A gate, and how many of its checks passed");
  f("name", x.gate).required();
  f("passed", x.passed).at_least(0);
  f("of", x.of).at_least(1);
}

void fields(Verification& x, FieldList& f) {
  f.record("verification", "Outcome of the correctness gates");
  f("passed", x.passed).required();
  f("skipped", x.skipped).omitted();
  f("margin", x.margin).absent_if(x.skipped).about("The worst value over its limit");
  f("worst_rule", x.worst_rule).omitted().about("Which rule gave the margin");
  f("max_abs_diff", x.max_abs_diff).absent_if(x.skipped);
  f("mean_abs_diff", x.mean_abs_diff).absent_if(x.skipped);
  f("relative_l2", x.relative_l2).absent_if(x.skipped);
  f("method_l2", x.method_l2).about("Of fp8: the same against the inputs before quantization");
  f("allclose_1e3", x.allclose_1e3).absent_if(x.skipped).about("allclose(rtol 1e-3, atol 1e-3)");
  f("lse", x.lse).about("Of a problem with lse: worst error over its limit, and largest error");
  f("seeds", x.seeds).at_least(1).omitted();
  f("gates", x.gates).about("Those passed, in order");
  f.as<&not_run_fields>("not_run", x.not_run).omitted();
  f("precision_note", x.precision_note).omitted();
  f.keyed<&ToolVerdict::tool>("sanitizer", x.sanitizer)
      .omitted()
      .about("compute-sanitizer's tools; a reason unless passed");
}

void fields(Resources& x, FieldList& f) {
  const bool planned = x.threads > 0;  // otherwise only the compiler was asked
  f.record("resources");
  f("registers", x.registers).at_least(0).absent_if(x.registers == 0);
  f("static_shared_bytes", x.static_shared_bytes).required().at_least(0);
  f("dynamic_shared_bytes", x.dynamic_shared_bytes).at_least(0).absent_if(!planned);
  f("spill_store_bytes", x.spill_store_bytes).at_least(0);
  f("spill_load_bytes", x.spill_load_bytes).at_least(0);
  f("stack_bytes", x.stack_bytes).at_least(0);
  f("threads", x.threads).at_least(1).omitted().about("Of a block");
  f("blocks_per_sm", x.blocks_per_sm).at_least(1).omitted();
  f("blocks", x.blocks).at_least(1).omitted().about("Of the grid");
  f("warnings", x.warnings).omitted().about("Compiler warnings that matter");
}

void fields(Conditions& x, FieldList& f) {
  f.record("conditions", "State of the GPU while it was measured");
  f("sm_clock_mhz_min", x.sm_clock_mhz_min).at_least(1).omitted();
  f("sm_clock_mhz_max", x.sm_clock_mhz_max).at_least(1).omitted();
  f("memory_clock_mhz", x.memory_clock_mhz).at_least(1).omitted();
  f("temperature_c", x.temperature_c).omitted();
  f("power_w", x.power_w).omitted();
  f("throttle_reasons", x.throttle_reasons).required().about("NVML's bits, or-ed");
  f.derived("throttled", throttle_names(x.throttle_reasons));
  f("discarded_samples", x.discarded_samples).at_least(0).about("Because of throttling");
  f("other_processes", x.other_processes)
      .at_least(0)
      .omitted()
      .about("That computed on the GPU before or after the rounds");
}

std::optional<Timing>& timing_of(Observation& record, Time time) {
  return record.*kTimings.at(static_cast<std::size_t>(time));
}

const std::optional<Timing>& timing_of(const Observation& record, Time time) {
  return record.*kTimings.at(static_cast<std::size_t>(time));
}

const std::optional<Timing>& searched_timing(const Observation& record, Time time) {
  const bool falls_back = time == Time::kInLayer && !record.in_layer;
  return timing_of(record, falls_back ? Time::kHot : time);
}

void outcome_fields(Observation& x, FieldList& f) {
  f("outcome", x.outcome).required();
  f("reason", x.reason).omitted().about("Why, for every outcome but measured");
}

void time_fields(Observation& x, FieldList& f) {
  f("in_layer", x.in_layer)
      .absent_if(x.in_layer && !(x.in_layer->median_us > 0))  // a difference below the noise
      .about("Between two products: with, less without");
  f("plain", x.plain).about("Behind plain launches of itself");
  f("hot", x.hot).about("Behind launches of itself, chained where the kernel asks for it");
  f("cold", x.cold);
}

void measured_fields(Observation& x, FieldList& f) {
  time_fields(x, f);
  f("verify", x.verification);
  f("resources", x.resources);
  f("conditions", x.conditions);
}

const std::vector<std::string>& sanitizer_tools() {
  static const std::vector<std::string> tools = {"memcheck", "racecheck", "synccheck"};
  return tools;
}

std::vector<ToolVerdict> sanitizer_not_run(const std::string& reason) {
  std::vector<ToolVerdict> verdicts;
  for (const std::string& tool : sanitizer_tools()) verdicts.push_back({tool, "not_run", reason});
  return verdicts;
}

std::vector<std::string> throttle_names(std::uint64_t reasons) {
  // Names of bit i of nvmlDeviceGetCurrentClocksEventReasons, from NVML's documentation.
  constexpr std::array kNames = {"gpu_idle",    "app_clocks",     "sw_power_cap",
                                 "hw_slowdown", "sync_boost",     "sw_thermal",
                                 "hw_thermal",  "hw_power_brake", "display_clock"};
  std::vector<std::string> names;
  for (std::size_t bit = 0; bit < 64; ++bit) {
    if ((reasons >> bit & 1U) == 0) continue;
    names.push_back(bit < kNames.size() ? kNames[bit]
                                        : fmt::format("bit {:#x}", std::uint64_t{1} << bit));
  }
  return names;
}

/// `whole`: the document chooses kernels, so it requires the limits; otherwise people read it.
static void list_device(Environment& x, bool whole, FieldList& f) {
  DeviceLimits& limits = x.limits;
  const auto limit = [&](const char* key, std::int64_t& value) -> Field& {
    Field& field = f(key, value);
    return whole ? field.required().at_least(0) : field.at_least(1).omitted();
  };
  f.record("device");
  f("name", x.device_name).required();
  f("uuid", x.device_uuid).omitted();
  f("arch", limits.arch).required();
  f("driver", x.driver).omitted();
  f("cuda_driver", x.cuda_driver).omitted();
  f("nvrtc", x.nvrtc).omitted();
  limit("sm_count", limits.sm_count);
  f("memory_bytes", limits.memory_bytes).at_least(1).omitted();
  f("l2_bytes", x.l2_bytes).at_least(1).omitted();
  f("memory_bus_bits", x.memory_bus_bits).at_least(1).omitted();
  f("memory_clock_mhz", x.memory_clock_mhz).at_least(1).omitted();
  f("max_sm_clock_mhz", x.max_sm_clock_mhz).at_least(1).omitted();
  f("power_limit_w", x.power_limit_w).omitted().about("Enforced by the driver");
  limit("max_shared_block", limits.max_shared_block).about("Bytes, opt-in");
  limit("max_shared_sm", limits.max_shared_sm);
  f("max_threads_block", limits.max_threads_block).at_least(1).omitted();
  f("max_threads_sm", limits.max_threads_sm).at_least(1).omitted();
  f("max_registers_sm", limits.max_registers_sm).at_least(1).omitted();
  f("max_blocks_sm", limits.max_blocks_sm).at_least(1).omitted();
}

void device_fields(Environment& x, FieldList& f) { list_device(x, false, f); }

void host_fields(Environment& x, FieldList& f) {
  f("host", x.host).omitted().about("Kernel and CPU model");
  f("cpu_cores", x.cpu_cores).at_least(1).omitted();
}

void fields(Environment& x, FieldList& f) {
  list_device(x, true, f);
  host_fields(x, f);
  f.record("environment", "The device, and the machine around it");
  f("fatune", x.fatune).omitted().about("Version that measured");
  f("recorded", x.recorded).omitted().about("A recording stood in for the device");
}

void fields(ListedDevice& x, FieldList& f) {
  fields(static_cast<Environment&>(x), f);
  f("unfit", x.unfit).omitted();
}

}  // namespace fatune
