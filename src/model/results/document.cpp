// document.cpp - one spelling for what documents share: intervals, quartiles, times, gates, device.
#include "model/results/document.hpp"

#include <memory>

#include <fmt/format.h>

#include "core/fields.hpp"
#include "core/text.hpp"
#include "model/problem/problem.hpp"
#include "model/problem/suite.hpp"

namespace fatune::document {
namespace {

/// A text of a record that documents write as an object: `members` lists its parts, `join` puts
/// them together again after reading.
template <typename Parts>
void text_fields(std::string& text, Parts parts, std::string (*join)(const Parts&), FieldList& f) {
  const auto kept = std::make_shared<Parts>(std::move(parts));
  fields(*kept, f);
  f.rule("", [&text, kept, join] {
    text = join(*kept);
    return std::string();
  });
}

/// "edge_problems 7/7", or "launch", which is one check.
struct PassedGate {
  std::string name;
  std::int64_t passed = 1, of = 1;
};

void fields(PassedGate& x, FieldList& f) {
  f("name", x.name).required();
  f("passed", x.passed).at_least(0);
  f("of", x.of).at_least(1);
}

PassedGate parse_gate(const std::string& text) {
  const std::size_t space = text.find(' '), slash = text.find('/');
  if (space == std::string::npos || slash == std::string::npos || slash < space) return {text};
  const auto passed = parse_integer(std::string_view(text).substr(space + 1, slash - space - 1));
  const auto of = parse_integer(std::string_view(text).substr(slash + 1));
  return passed && of ? PassedGate{text.substr(0, space), *passed, *of} : PassedGate{text};
}

std::string describe(const PassedGate& gate) {
  return gate.of == 1 ? gate.name : fmt::format("{} {}/{}", gate.name, gate.passed, gate.of);
}

void gate_fields(std::string& text, FieldList& f) {
  f.record("passed_gate", "A gate, and how many of its checks passed");
  text_fields<PassedGate>(text, parse_gate(text), &describe, f);
}

/// "physics: the device does not tell its memory clock"
struct GateNotRun {
  std::string name, reason;
};

void fields(GateNotRun& x, FieldList& f) {
  f("name", x.name).required();
  f("reason", x.reason);
}

std::string describe(const GateNotRun& gate) {
  return fmt::format("{}: {}", gate.name, gate.reason);
}

void not_run_fields(std::string& text, FieldList& f) {
  const std::size_t colon = text.find(": ");
  const std::string reason = colon == std::string::npos ? "" : text.substr(colon + 2);
  text_fields<GateNotRun>(text, {text.substr(0, colon), reason}, &describe, f);
}

/// Of plain launches: TFLOP/s, or GB/s of the least bytes where operations are not counted.
void rate_fields(const FinalRecord& x, FieldList& f) {
  std::optional<double> tflops, gbytes_per_s;
  if (const auto& timing = x.rated_time(); timing && timing->median_us > 0) {
    const Seconds time = to_seconds(Micros(timing->median_us));
    if (counts_flops(x.problem)) {
      tflops = (flops(x.problem) / time).value;
    } else {
      gbytes_per_s = gigabytes_per_second(x.problem, time);
    }
  }
  f.derived("tflops", tflops).finite().positive();
  f.derived("gbytes_per_s", gbytes_per_s).finite().positive();
}

}  // namespace

void head_fields(std::string& fatune, std::string& command, bool& recorded, FieldList& f) {
  f("fatune", fatune).about("Version that wrote this");
  f("command", command).about("That repeats it");
  f("recorded", recorded).about("A recording stood in for a device");
}

void head_fields(DocumentHead& x, FieldList& f) { head_fields(x.fatune, x.command, x.recorded, f); }

void device_fields(Environment& x, FieldList& f) {
  DeviceLimits& limits = x.limits;
  f.record("device");
  f("name", x.device_name);
  f("uuid", x.device_uuid).omitted();
  f("arch", limits.arch).required();
  f("driver", x.driver).omitted();
  f("cuda_driver", x.cuda_driver).omitted();
  f("nvrtc", x.nvrtc).omitted();
  f("sm_count", limits.sm_count).at_least(1).omitted();
  f("memory_bytes", limits.memory_bytes).at_least(1).omitted();
  f("l2_bytes", x.l2_bytes).at_least(1).omitted();
  f("memory_bus_bits", x.memory_bus_bits).at_least(1).omitted();
  f("memory_clock_mhz", x.memory_clock_mhz).at_least(1).omitted();
  f("max_sm_clock_mhz", x.max_sm_clock_mhz).at_least(1).omitted();
  f("power_limit_w", x.power_limit_w).omitted().about("Enforced by the driver");
  f("max_shared_block", limits.max_shared_block).at_least(1).omitted().about("Bytes, opt-in");
  f("max_shared_sm", limits.max_shared_sm).at_least(1).omitted();
  f("max_threads_block", limits.max_threads_block).at_least(1).omitted();
  f("max_threads_sm", limits.max_threads_sm).at_least(1).omitted();
  f("max_registers_sm", limits.max_registers_sm).at_least(1).omitted();
  f("max_blocks_sm", limits.max_blocks_sm).at_least(1).omitted();
}

void host_fields(Environment& x, FieldList& f) {
  f("host", x.host).omitted().about("Kernel and CPU model");
  f("cpu_cores", x.cpu_cores).at_least(1).omitted();
}

void time_fields(Timing& x, FieldList& f) {
  f.record("times", "In microseconds a launch");
  f("median_us", x.median_us).required().finite().positive();
  f.pair("ci95_us", x.ci95_low_us, x.ci95_high_us).about("Bootstrap interval of the median");
  f.pair("iqr_us", x.q1_us, x.q3_us).about("Quartiles").absent_if(x.q3_us == 0);
  f("min_us", x.min_us).finite().omitted();
  f("sem_relative", x.sem_relative).omitted().about("Standard error of the median over the median");
  f("samples", x.samples).at_least(1).absent_if(x.samples == 0);
  f("launches_per_sample", x.launches_per_sample).at_least(1);
  f("killed_early", x.killed_early).omitted().about("Clearly slower than the best");
  f("q1_us", x.q1_us).until(1);
  f("q3_us", x.q3_us).until(1);
  f("ci95_low_us", x.ci95_low_us).until(1);
  f("ci95_high_us", x.ci95_high_us).until(1);
}

void verification_fields(Verification& x, FieldList& f) {
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
  f.as<&gate_fields>("gates", x.gates).since(2).about("Those passed, in order");
  f("gates", x.gates).until(1);
  f.as<&not_run_fields>("not_run", x.not_run).since(2).omitted();
  f("not_run", x.not_run).until(1);
  f("precision_note", x.precision_note).omitted();
  f.keyed<&ToolVerdict::tool>("sanitizer", x.sanitizer)
      .omitted()
      .about("compute-sanitizer's tools; a reason unless passed");
}

void resource_fields(Resources& x, FieldList& f) {
  const bool planned = x.threads > 0;  // else only the compiler was asked
  f.record("resources");
  f("registers", x.registers).at_least(0).absent_if(x.registers == 0);
  f("static_shared_bytes", x.static_shared_bytes).at_least(0);
  f("dynamic_shared_bytes", x.dynamic_shared_bytes).at_least(0).absent_if(!planned);
  f("spill_store_bytes", x.spill_store_bytes).at_least(0);
  f("spill_load_bytes", x.spill_load_bytes).at_least(0);
  f("stack_bytes", x.stack_bytes).at_least(0);
  f("threads", x.threads).at_least(1).omitted().about("Of a block");
  f("blocks_per_sm", x.blocks_per_sm).at_least(1).omitted();
  f("blocks", x.blocks).at_least(1).omitted().about("Of the grid");
  f("warnings", x.warnings).omitted().about("Compiler warnings that matter");
}

void condition_fields(Conditions& x, FieldList& f) {
  f.record("conditions", "State of the GPU while it was measured");
  f("sm_clock_mhz_min", x.sm_clock_mhz_min).at_least(1).omitted();
  f("sm_clock_mhz_max", x.sm_clock_mhz_max).at_least(1).omitted();
  f("memory_clock_mhz", x.memory_clock_mhz).at_least(1).omitted();
  f("temperature_c", x.temperature_c).omitted();
  f("power_w", x.power_w).omitted();
  f("throttle_reasons", x.throttle_reasons).required().about("NVML's bits, or-ed");
  f.derived("throttled", throttle_names(x.throttle_reasons));
  f("discarded_samples", x.discarded_samples).at_least(0).about("Because of throttling");
}

void problem_fields(std::string& name, Problem& problem, FieldList& f) {
  f("name", name).omitted();
  f("problem", problem);
  f.derived("label", label({name, problem})).about("For people");
}

void contestant_fields(FinalRecord& x, FieldList& f) {
  f("impl", x.impl);
  f("kernel", x.kernel).omitted();
  f("config", x.config).object().omitted().schema(kConfigSchema);
  f("id", x.id).omitted().looks_like(kIdPattern);
  f("detail", x.detail).omitted();
  f("timed_again", x.timed_again).omitted().about("In rounds after the best was chosen");
  f.as<&time_fields>("in_layer", x.in_layer);
  f.as<&time_fields>("plain", x.plain);
  f.as<&time_fields>("hot", x.hot);
  f.as<&time_fields>("cold", x.cold);
  rate_fields(x, f);
}

void final_fields(FinalRecord& x, FieldList& f) {
  contestant_fields(x, f);
  f("role", x.role).one_of("finalist, default, baseline");
  outcome_fields(x, f);
  f.as<&verification_fields>("verify", x.verification);
  f.as<&resource_fields>("resources", x.resources);
  f.as<&condition_fields>("conditions", x.conditions);
}

void candidate_fields(CandidateRecord& x, FieldList& f) {
  f.record("candidate", "A config that the search tried");
  f("id", x.id).looks_like(kIdPattern);
  f("kernel", x.kernel);
  f("config", x.config).object().schema(kConfigSchema);
  outcome_fields(x, f);
  f("duplicate_of", x.duplicate_of).omitted().looks_like(kIdPattern);
  f.as<&time_fields>("hot", x.hot);
  f.as<&time_fields>("cold", x.cold);
  f.as<&verification_fields>("verify", x.verification);
  f.as<&resource_fields>("resources", x.resources);
  f("at_s", x.at_s).about("Since the run began");
}

}  // namespace fatune::document
