// samples.hpp: Makes observations and a device whose members all differ from their defaults.
#pragma once

#include "model/results/record.hpp"

namespace fatune::test {

inline Timing sample_timing() {
  return Timing{.median_us = 9.81,
                .q1_us = 9.7,
                .q3_us = 9.9,
                .min_us = 9.5,
                .sem_relative = 0.0021,
                .samples = 30,
                .launches_per_sample = 64,
                .killed_early = true,
                .ci95_low_us = 9.79,
                .ci95_high_us = 9.83};
}

inline Verification sample_verification() {
  return Verification{
      .passed = true,
      .margin = 0.41,
      .worst_rule = "max",
      .max_abs_diff = 0.00048828125,
      .mean_abs_diff = 1.5e-05,
      .relative_l2 = 2.2e-4,
      .allclose_1e3 = true,
      .seeds = 3,
      .gates = {{GateId::kLaunch}, {GateId::kPoison}},
      .not_run = {"physics: no memory clock"},
      .precision_note = "margin 0.80, the default config's is 0.30",
      .sanitizer = {{"memcheck", "passed", ""}, {"racecheck", "not_run", "not installed"}}};
}

inline Resources sample_resources() {
  return Resources{.registers = 168,
                   .static_shared_bytes = 16,
                   .dynamic_shared_bytes = 49152,
                   .spill_store_bytes = 8,
                   .spill_load_bytes = 12,
                   .stack_bytes = 40,
                   .threads = 128,
                   .blocks_per_sm = 2,
                   .blocks = 528,
                   .warnings = {"C7510 \"quoted\"\nand a second line"}};
}

inline Conditions sample_conditions() {
  return Conditions{.sm_clock_mhz_min = 1905,
                    .sm_clock_mhz_max = 1980,
                    .memory_clock_mhz = 3201,
                    .temperature_c = 41,
                    .power_w = 312.5,
                    .throttle_reasons = 0x8000000000000024,
                    .discarded_samples = 4,
                    .other_processes = 2};
}

inline Attention sample_problem() {
  return Attention{.batch = 4,
                   .heads = 8,
                   .kv_heads = 2,
                   .seq_q = 512,
                   .seq_kv = 640,
                   .head_dim = 96,
                   .dtype = Dtype::kBf16,
                   .mask = Mask::kCausal};
}

/// The facts that its peak rates follow from.
inline Environment h200() {
  Environment environment;
  environment.limits.arch = {90, 'a'};
  environment.limits.sm_count = 132;
  environment.l2_bytes = 60LL * 1024 * 1024;
  environment.memory_bus_bits = 6144;
  environment.memory_clock_mhz = 3201;
  environment.max_sm_clock_mhz = 1980;
  return environment;
}

inline CandidateRecord sample_candidate() {
  CandidateRecord x;
  x.id = "0123456789abcdef";
  x.key = "fa_mma|b4|BLOCK_M=128";
  x.kernel = "fa_mma";
  x.config = Json{{"BLOCK_M", 128}, {"REDUCE", "warp"}, {"PAD", false}};
  x.problem = sample_problem();
  x.outcome = Outcome::kPruned;
  x.reason = "2.3 times the best";
  x.cubin = "ab12";
  x.duplicate_of = "fedcba9876543210";
  x.hot = sample_timing();
  x.cold = Timing{.median_us = 14, .q1_us = 13, .q3_us = 15, .min_us = 12, .samples = 5};
  x.verification = sample_verification();
  x.resources = sample_resources();
  x.conditions = sample_conditions();
  x.spent = {.compile_s = 0.61,
             .verify_s = 0.02,
             .timing_s = 0.1,
             .gpu_wait_s = 0.003,
             .ready_s = 0.2,
             .compiler = 3};
  x.at_s = 17.25;
  x.recorded = true;
  return x;
}

inline FinalRecord sample_final() {
  FinalRecord x;
  x.impl = "fatune:fa_mma";
  x.role = RowRole::kFinalist;
  x.id = "0123456789abcdef";
  x.kernel = "fa_mma";
  x.config = Json{{"BLOCK_M", 128}};
  x.problem = sample_problem();
  x.outcome = Outcome::kLaunchError;
  x.reason = "too many resources";
  x.hot = sample_timing();
  x.cold = sample_timing();
  x.hot_rounds_us = {9.8, 9.81, 9.79};
  x.cold_rounds_us = {14.1, 14.0};
  x.verification = sample_verification();
  x.resources = sample_resources();
  x.conditions = sample_conditions();
  x.recorded = true;
  return x;
}

}  // namespace fatune::test
