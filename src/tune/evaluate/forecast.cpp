// forecast.cpp: Adds up resources, computes resident blocks and waves, and rejects hopeless code.
#include "tune/evaluate/forecast.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/fields.hpp"
#include "model/problem/problem.hpp"

namespace fatune {
namespace {

constexpr std::int64_t kWarp = 32;
// Allocation of registers and shared memory since sm_80. With these units the number of resident
// blocks equals the driver's for all 9,325 candidates in the journals of results/h200 and
// configs/recorded.
constexpr std::int64_t kRegisterUnit = 256;  // allocated to a warp at a time
constexpr std::int64_t kPartitions = 4;  // per multiprocessor; the registers of a warp lie in one
constexpr std::int64_t kReservedShared = 1024;  // bytes per block reserved by the system
constexpr std::int64_t kSharedUnit = 128;       // bytes

// Bytes per thread, stored and loaded, or in the stack frame. Chosen from the journals of
// results/h200: with spills of up to 56 bytes candidates came within 5 % of their best. Candidates
// with more than 128 bytes stayed at least 29 % behind.
constexpr std::int64_t kMostSpillBytes = 256;
constexpr std::int64_t kMostStackBytes = 256;

std::int64_t round_up(std::int64_t value, std::int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

StageForecast forecast_stage(const StagePlan& stage, const DeviceLimits& limits,
                             const Compiled* compiled) {
  StageForecast result;
  result.entry = stage.entry;
  result.blocks = product(stage.grid);
  result.threads = product(stage.block);
  result.shared_bytes = stage.shared_bytes + stage.static_shared_bytes;
  result.resident_blocks = limits.max_blocks_sm;
  result.bound = "blocks";
  // The least limit decides; the first named wins a tie.
  const auto limit = [&](std::int64_t available, std::int64_t wanted, std::string_view by) {
    if (wanted <= 0 || available / wanted >= result.resident_blocks) return;
    result.resident_blocks = available / wanted;
    result.bound = by;
  };
  const std::int64_t warps = round_up(result.threads, kWarp) / kWarp;
  limit(limits.max_threads_sm, warps * kWarp, "threads");
  limit(limits.max_shared_sm, round_up(result.shared_bytes + kReservedShared, kSharedUnit),
        "shared memory");
  if (const Resources* used = compiled == nullptr ? nullptr : compiled->resources_of(stage.entry)) {
    const int registers = used->registers;
    result.registers = registers;
    const std::int64_t of_warp = round_up(registers * kWarp, kRegisterUnit);
    if (of_warp > 0) {
      const std::int64_t in_partition = limits.max_registers_sm / kPartitions / of_warp;
      limit(kPartitions * in_partition, warps, "registers");
    }
  }
  result.occupancy = static_cast<double>(result.resident_blocks * warps * kWarp) /
                     static_cast<double>(limits.max_threads_sm);
  const std::int64_t at_once = result.resident_blocks * limits.sm_count;
  if (at_once > 0) result.waves = static_cast<double>(result.blocks) / static_cast<double>(at_once);
  return result;
}

bool is_serial_wgmma(const std::string& warning) {
  return warning.find("wgmma") != std::string::npos &&
         warning.find("serialized") != std::string::npos;
}

}  // namespace

std::optional<Resources> with_compiler_log(std::optional<Resources> resources,
                                           const Compiled& compiled, const LaunchPlan& plan) {
  for (const StagePlan& stage : plan.stages) {
    const Resources* const found = compiled.resources_of(stage.entry);
    if (found == nullptr) continue;
    const Resources& logged = *found;
    if (!resources) {
      resources = Resources{};
      resources->dynamic_shared_bytes = stage.shared_bytes;
      resources->threads = static_cast<int>(product(stage.block));
    }
    resources->registers = std::max(resources->registers, logged.registers);
    resources->static_shared_bytes =
        std::max(resources->static_shared_bytes, logged.static_shared_bytes);
    resources->spill_store_bytes += logged.spill_store_bytes;
    resources->spill_load_bytes += logged.spill_load_bytes;
    resources->stack_bytes = std::max(resources->stack_bytes, logged.stack_bytes);
    for (const std::string& warning : logged.warnings) {
      const auto known = std::find(resources->warnings.begin(), resources->warnings.end(), warning);
      if (known == resources->warnings.end()) resources->warnings.push_back(warning);
    }
  }
  return resources;
}

Forecast forecast(const Problem& problem, const LaunchPlan& plan, const DeviceLimits& limits,
                  const Compiled* compiled) {
  Forecast result;
  result.flops_per_byte = flops(problem).value / static_cast<double>(least_bytes(problem).value);
  for (const StagePlan& stage : plan.stages) {
    if (!stage.gemm) result.stages.push_back(forecast_stage(stage, limits, compiled));
  }
  return result;
}

void fields(StageForecast& x, FieldList& f) {
  f("entry", x.entry);
  f("blocks", x.blocks);
  f("threads", x.threads);
  f("shared_bytes", x.shared_bytes);
  f("registers", x.registers);
  f("resident_blocks", x.resident_blocks).about("That a multiprocessor holds");
  f.derived("bound", std::string(x.bound));
  f("occupancy", x.occupancy).finite();
  f("waves", x.waves).finite();
}

void fields(Forecast& x, FieldList& f) {
  f("flops_per_byte", x.flops_per_byte).finite();
  f("stages", x.stages);
}

std::string hopeless_reason(const Compiled& compiled) {
  for (const auto& [entry, used] : compiled.entries) {
    const std::int64_t spilled = used.spill_store_bytes + used.spill_load_bytes;
    if (spilled > kMostSpillBytes) {
      return fmt::format("{} spills {} bytes a thread, more than {}: not launched", entry, spilled,
                         kMostSpillBytes);
    }
    if (used.stack_bytes > kMostStackBytes) {
      return fmt::format("{} has a stack frame of {} bytes a thread, more than {}: not launched",
                         entry, used.stack_bytes, kMostStackBytes);
    }
    const auto serial = std::find_if(used.warnings.begin(), used.warnings.end(), is_serial_wgmma);
    if (serial != used.warnings.end()) return entry + ": " + *serial + ": not launched";
  }
  return "";
}

}  // namespace fatune
