// doctor_gpu.cpp: Judges the answers of driver and NVML. A low clock is noise on a busy GPU only.
#include <algorithm>
#include <chrono>
#include <thread>

#include <fmt/core.h>

#include "cli/doctor/doctor.hpp"
#include "core/text.hpp"
#include "core/units.hpp"
#include "model/results/measurement.hpp"

namespace fatune::cli {
namespace {

constexpr int kReadings = 10;  // chosen: long enough to see a job that comes and goes
constexpr std::chrono::milliseconds kBetween{50};
// chosen: data-centre GPUs begin to slow down some degrees above
constexpr int kWarmGpuCelsius = 80;
constexpr double kLowClock = 0.9;                     // chosen: of the highest, under load
constexpr int kBusyPercent = 5;                       // chosen: an idle GPU answers 0
constexpr Bytes kDriversOwn(std::uint64_t{2} << 30);  // chosen: an idle H200 holds 0.6 GiB back
constexpr double kBusyHost = 0.5;                     // chosen: of the cores

struct Slowdown {
  std::uint64_t bits;
  const char* remedy;
};
// NVML's clocks-event bits.
constexpr Slowdown kSlowdowns[] = {
    {0x2,
     "application clocks are set: numbers hold for this clock only; `nvidia-smi -rac` resets "
     "them"},
    {0x4,
     "the power cap slows the GPU: expect lower clocks at full load; `nvidia-smi -q -d POWER` "
     "shows "
     "the cap"},
    {0x8 | 0x80,
     "the hardware slows the GPU for heat or power: check its cooling and power supply"},
    {0x10, "the GPU follows the clocks of other GPUs (sync boost): take it out of the group"},
    {0x20 | 0x40, "the GPU is too hot: let it cool, and check its airflow"},
};

std::string describe(const gpu::GpuProcess& process) {
  std::string text = fmt::format("process {}", process.pid);
  if (process.memory_bytes) text += " with " + fatune::describe(Bytes(*process.memory_bytes));
  return text;
}

void add_processes(const GpuWatch& watch, std::vector<Noise>& noise) {
  if (watch.processes.empty()) return;
  std::vector<std::string> names;
  for (const gpu::GpuProcess& process : watch.processes) names.push_back(describe(process));
  noise.push_back({"other processes compute on the GPU: " + join(names, ", "),
                   "end them, or choose another GPU with --device cuda:N; rounds that they disturb "
                   "widen every interval"});
}

/// Finds other processes by utilization and memory, because a container does not list them.
void add_unseen(const GpuWatch& watch, std::vector<Noise>& noise) {
  if (!watch.processes.empty()) return;
  int busy = 0;
  for (const gpu::Reading& reading : watch.readings)
    busy = std::max(busy, reading.busy_percent.value_or(0));
  const std::uint64_t memory = watch.memory_used_bytes.value_or(0);
  std::vector<std::string> signs;
  if (busy >= kBusyPercent) signs.push_back(fmt::format("busy {} % of the time", busy));
  if (memory > kDriversOwn.value) signs.push_back(describe(Bytes(memory)) + " in use");
  if (signs.empty()) return;
  noise.push_back(
      {"other processes, not visible from here, compute on the GPU: " + join(signs, ", "),
       "end them, or choose another GPU with --device cuda:N; from within a container "
       "only the host's nvidia-smi names them"});
}

std::uint64_t reasons_seen(const GpuWatch& watch) {
  std::uint64_t seen = 0;
  for (const gpu::Reading& reading : watch.readings) seen |= reading.throttle_reasons.value_or(0);
  return seen;
}

void add_slowdowns(const GpuWatch& watch, std::vector<Noise>& noise) {
  const std::uint64_t seen = reasons_seen(watch);
  for (const Slowdown& slowdown : kSlowdowns) {
    const std::uint64_t bits = seen & slowdown.bits;
    if (bits != 0)
      noise.push_back({"slowed down: " + join(throttle_names(bits), ", "), slowdown.remedy});
  }
}

int hottest(const GpuWatch& watch) {
  int celsius = 0;
  for (const gpu::Reading& reading : watch.readings)
    celsius = std::max(celsius, reading.temperature_c.value_or(0));
  return celsius;
}

/// Lowest clock of the readings in which the GPU was not idle.
std::optional<int> lowest_busy_clock(const GpuWatch& watch) {
  std::optional<int> lowest;
  for (const gpu::Reading& reading : watch.readings) {
    const bool idle = (reading.throttle_reasons.value_or(kIdleReason) & kIdleReason) != 0;
    if (idle || !reading.sm_clock_mhz) continue;
    lowest = std::min(lowest.value_or(*reading.sm_clock_mhz), *reading.sm_clock_mhz);
  }
  return lowest;
}

void add_low_clock(const GpuWatch& watch, std::vector<Noise>& noise) {
  const auto lowest = lowest_busy_clock(watch);
  if (!lowest || !watch.max_sm_clock_mhz || *lowest >= kLowClock * *watch.max_sm_clock_mhz) return;
  noise.push_back(
      {fmt::format("clock at {} of {} MHz while it works", *lowest, *watch.max_sm_clock_mhz),
       "wait until the GPU is free; if its clocks were locked low, `nvidia-smi -rgc` "
       "unlocks them"});
}

constexpr const char* kGroup = "GPU";

GpuSeen look_at(int ordinal) {
  GpuSeen seen{gpu::device_facts(ordinal), "", {}};
  if (!seen.facts) return seen;
  const gpu::Telemetry telemetry = gpu::Telemetry::open(seen.facts->pci_bus_id);
  seen.telemetry_problem = telemetry.problem();
  if (telemetry.available()) seen.watch = watch_gpu(telemetry);
  // Some containers hide the system files that hold the version.
  if (seen.facts->driver.empty()) seen.facts->driver = telemetry.driver_version().value_or("");
  seen.watch.watchdog = seen.facts->display_watchdog;
  return seen;
}

std::string describe_facts(const gpu::DeviceFacts& facts) {
  return fmt::format("{}, sm_{}{}, {} multiprocessors, {}", facts.name, facts.major, facts.minor,
                     facts.sm_count,
                     describe(Bytes(static_cast<std::uint64_t>(facts.memory_bytes))));
}

Check driver_check(const GpusSeen& seen) {
  for (const GpuSeen& gpu : seen.gpus) {
    if (!gpu.facts) continue;
    const std::string version = gpu.facts->driver.empty() ? "version unknown" : gpu.facts->driver;
    return {Health::kGood, kGroup, "NVIDIA driver",
            version + ", runs programs of CUDA " + gpu.facts->cuda_driver + " and older", ""};
  }
  return {Health::kBad, kGroup, "NVIDIA driver", "the driver answers for none of its GPUs",
          "see `nvidia-smi` and the system's log"};
}

void add_state(const GpuSeen& gpu, const std::string& name, Checks& checks) {
  const auto add = [&](Health health, const std::string& found, const std::string& remedy) {
    checks.push_back({health, kGroup, name + " state", found, remedy});
  };
  if (!gpu.telemetry_problem.empty()) {
    return add(Health::kNote, "unknown: " + gpu.telemetry_problem,
               "clocks and throttling will not be recorded; NVML comes with the driver");
  }
  if (gpu.watch.compute_mode == gpu::ComputeMode::kProhibited)
    add(Health::kBad, "no program may compute on it", "sudo nvidia-smi -c 0");
  const std::vector<Noise> noise = gpu_noise(gpu.watch);
  for (const Noise& each : noise) add(Health::kNoisy, each.found, each.remedy);
  if (noise.empty())
    add(Health::kGood, "no other process, no throttling, " + describe(gpu.watch), "");
  for (const Noise& each : gpu_notes(gpu.watch)) add(Health::kNote, each.found, each.remedy);
}

}  // namespace

GpuWatch watch_gpu(const gpu::Telemetry& telemetry) {
  GpuWatch watch;
  watch.processes = telemetry.compute_processes();
  watch.max_sm_clock_mhz = telemetry.max_sm_clock_mhz();
  watch.mig = telemetry.mig_enabled().value_or(false);
  watch.memory_used_bytes = telemetry.memory_used_bytes();
  watch.persistence = telemetry.persistence();
  watch.compute_mode = telemetry.compute_mode();
  for (int i = 0; i < kReadings; ++i) {
    if (i > 0) std::this_thread::sleep_for(kBetween);
    watch.readings.push_back(telemetry.read());
  }
  return watch;
}

std::vector<Noise> gpu_noise(const GpuWatch& watch) {
  std::vector<Noise> noise;
  add_processes(watch, noise);
  add_unseen(watch, noise);
  add_slowdowns(watch, noise);
  add_low_clock(watch, noise);
  if (const int celsius = hottest(watch); celsius >= kWarmGpuCelsius)
    noise.push_back({fmt::format("{} degrees C", celsius), "wait until the GPU is cooler"});
  if (watch.mig) {
    noise.push_back(
        {"MIG is on: the GPU is shared in slices",
         "numbers hold for this slice only, and its neighbours share memory and power"});
  }
  if (watch.watchdog) {
    noise.push_back({"the GPU drives a display: the desktop shares it and ends long kernels",
                     "stop the desktop, or choose another GPU with --device cuda:N"});
  }
  return noise;
}

std::vector<Noise> gpu_notes(const GpuWatch& watch) {
  std::vector<Noise> notes;
  if (watch.persistence && !*watch.persistence) {
    notes.push_back({"persistence mode is off: the driver unloads between programs",
                     "each command begins some seconds later; `nvidia-smi -pm 1` turns it on"});
  }
  if (watch.compute_mode == gpu::ComputeMode::kExclusive) {
    notes.push_back({"set to one process at a time",
                     "fatune's processes take turns, baselines in Python cannot; `nvidia-smi -c 0` "
                     "shares it"});
  }
  return notes;
}

std::optional<Noise> host_noise(double load, unsigned cores) {
  if (load <= kBusyHost * cores) return std::nullopt;
  return Noise{fmt::format("load average {:.1f} on {} cores", load, cores),
               "end other work: compilation slows down, and cold launches come late"};
}

std::string describe(const GpuWatch& watch) {
  const gpu::Reading now = watch.readings.empty() ? gpu::Reading{} : watch.readings.back();
  std::string text = now.sm_clock_mhz ? fmt::format("{} MHz", *now.sm_clock_mhz) : "clock unknown";
  if (now.sm_clock_mhz && watch.max_sm_clock_mhz)
    text = fmt::format("{} of {} MHz", *now.sm_clock_mhz, *watch.max_sm_clock_mhz);
  if (now.temperature_c) text += fmt::format(", {} degrees C", *now.temperature_c);
  return text;
}

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
    // Installing a driver does not help if the driver is there and finds no GPU.
    const bool absent = seen.driver.error().kind == ErrorKind::kEnvironment;
    // The remedy replaces the advice that follows in the message.
    const std::string& message = seen.driver.error().message;
    return {
        {Health::kBad, kGroup, "NVIDIA driver", message.substr(0, message.find(". ")),
         absent ? driver_line(host) : "check that a GPU is there, and check CUDA_VISIBLE_DEVICES"}};
  }
  Checks checks = {driver_check(seen)};
  for (std::size_t i = 0; i < seen.gpus.size(); ++i) {
    const std::string name = fmt::format("cuda:{}", i);
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
