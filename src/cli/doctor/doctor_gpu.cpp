// doctor_gpu.cpp - asks driver and NVML, then judges their answers.
#include "cli/doctor/doctor_gpu.hpp"

#include "core/text.hpp"
#include "core/units.hpp"
#include "gpu/telemetry.hpp"

namespace fatune::cli {
namespace {

constexpr const char* kGroup = "GPU";

GpuSeen look_at(int ordinal) {
  GpuSeen seen{gpu::device_facts(ordinal), "", {}};
  if (!seen.facts) return seen;
  const gpu::Telemetry telemetry = gpu::Telemetry::open(seen.facts->pci_bus_id);
  seen.telemetry_problem = telemetry.problem();
  if (telemetry.available()) seen.watch = watch_gpu(telemetry);
  // In some containers the system files that tell the version are hidden.
  if (seen.facts->driver.empty()) seen.facts->driver = telemetry.driver_version().value_or("");
  seen.watch.watchdog = seen.facts->display_watchdog;
  return seen;
}

std::string describe_facts(const gpu::DeviceFacts& facts) {
  return facts.name + ", sm_" + std::to_string(facts.major) + std::to_string(facts.minor) + ", " +
         std::to_string(facts.sm_count) + " multiprocessors, " +
         describe(Bytes(static_cast<std::uint64_t>(facts.memory_bytes)));
}

Check driver_check(const GpusSeen& seen) {
  for (const GpuSeen& gpu : seen.gpus) {
    if (!gpu.facts) continue;
    const std::string version = gpu.facts->driver.empty() ? "version unknown" : gpu.facts->driver;
    return {Health::kGood, kGroup, "NVIDIA driver",
            version + ", runs programs of CUDA " + gpu.facts->cuda_driver + " and older", ""};
  }
  return {Health::kBad, kGroup, "NVIDIA driver", "it answers for none of its GPUs",
          "`nvidia-smi` and the system's log tell more"};
}

void add_state(const GpuSeen& gpu, const std::string& name, Checks& checks) {
  if (!gpu.telemetry_problem.empty()) {
    checks.push_back({Health::kNote, kGroup, name + " state", "unknown: " + gpu.telemetry_problem,
                      "clocks and throttling will not be recorded; NVML comes with the driver"});
    return;
  }
  if (gpu.watch.compute_mode == gpu::ComputeMode::kProhibited) {
    checks.push_back({Health::kBad, kGroup, name + " state", "no program may compute on it",
                      "sudo nvidia-smi -c 0"});
  }
  const std::vector<Noise> noise = gpu_noise(gpu.watch);
  for (const Noise& each : noise)
    checks.push_back({Health::kNoisy, kGroup, name + " state", each.found, each.remedy});
  if (noise.empty()) {
    checks.push_back({Health::kGood, kGroup, name + " state",
                      "nobody else on it, no throttling, " + describe(gpu.watch), ""});
  }
  for (const Noise& each : gpu_notes(gpu.watch))
    checks.push_back({Health::kNote, kGroup, name + " state", each.found, each.remedy});
}

}  // namespace

GpusSeen look_at_gpus() {
  GpusSeen seen;
  const auto count = gpu::device_count();
  if (!count) {
    seen.driver = count.error();
    return seen;
  }
  for (int ordinal = 0; ordinal < *count; ++ordinal) seen.gpus.push_back(look_at(ordinal));
  return seen;
}

Checks gpu_checks(const GpusSeen& seen, const HostSystem& host) {
  if (!seen.driver) {
    // A driver that is there but finds no GPU is not mended by installing one.
    const bool absent = seen.driver.error().kind == ErrorKind::kEnvironment;
    // What else the message advises is the remedy's part here.
    const std::string& message = seen.driver.error().message;
    return {{Health::kBad, kGroup, "NVIDIA driver", message.substr(0, message.find(". ")),
             absent ? driver_line(host) : "see that a GPU is there, and CUDA_VISIBLE_DEVICES"}};
  }
  Checks checks = {driver_check(seen)};
  for (std::size_t i = 0; i < seen.gpus.size(); ++i) {
    const std::string name = "cuda:" + std::to_string(i);
    const GpuSeen& gpu = seen.gpus[i];
    if (!gpu.facts) {
      checks.push_back({Health::kBad, kGroup, name, gpu.facts.error().message,
                        "see the system's log for the GPU's errors"});
      continue;
    }
    checks.push_back({Health::kGood, kGroup, name, describe_facts(*gpu.facts), ""});
    add_state(gpu, name, checks);
  }
  return checks;
}

}  // namespace fatune::cli
