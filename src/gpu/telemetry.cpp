// telemetry.cpp - readings through NVML, whose functions are declared here: wheels have no nvml.h.
#include "gpu/telemetry.hpp"

#include <algorithm>
#include <array>

#include "gpu/library.hpp"

namespace fatune::gpu {
namespace {

// Names, values and layouts from NVML's reference manual.
using NvmlResult = int;
constexpr NvmlResult kNvmlSuccess = 0;
constexpr NvmlResult kNvmlTooSmall = 7;
using NvmlDevice = void*;
constexpr int kClockSm = 1;
constexpr int kClockMemory = 2;
constexpr int kTemperatureGpu = 0;
constexpr std::uint64_t kMemoryUnknown = ~std::uint64_t{0};

/// nvmlProcessInfo_t as of the _v2 and _v3 functions.
struct NvmlProcess {
  unsigned pid;
  unsigned long long used_memory;
  unsigned gpu_instance, compute_instance;
};

/// nvmlUtilization_t.
struct NvmlUtilization {
  unsigned gpu, memory;
};
/// nvmlMemory_t.
struct NvmlMemory {
  unsigned long long total, free, used;
};
constexpr unsigned kComputeModeDefault = 0;
constexpr unsigned kComputeModeProhibited = 2;

struct Nvml {
  NvmlResult (*init)();
  NvmlResult (*shutdown)();
  const char* (*error_text)(NvmlResult);
  NvmlResult (*by_bus_id)(const char*, NvmlDevice*);
  NvmlResult (*clock)(NvmlDevice, int, unsigned*);
  NvmlResult (*max_clock)(NvmlDevice, int, unsigned*);
  NvmlResult (*temperature)(NvmlDevice, int, unsigned*);
  NvmlResult (*power)(NvmlDevice, unsigned*);
  NvmlResult (*power_limit)(NvmlDevice, unsigned*);
  NvmlResult (*reasons)(NvmlDevice, unsigned long long*);
  NvmlResult (*processes)(NvmlDevice, unsigned*, NvmlProcess*);
  NvmlResult (*utilization)(NvmlDevice, NvmlUtilization*);
  NvmlResult (*memory)(NvmlDevice, NvmlMemory*);
  NvmlResult (*persistence)(NvmlDevice, unsigned*);
  NvmlResult (*compute_mode)(NvmlDevice, unsigned*);
  NvmlResult (*mig_mode)(NvmlDevice, unsigned*, unsigned*);
  NvmlResult (*driver_version)(char*, unsigned);
};

/// The first of several names that the library has: functions got new names over the years.
template <typename Function>
void load(const Library& library, Function& function, std::initializer_list<const char*> names) {
  function = nullptr;
  for (const char* name : names) {
    if (function == nullptr) function = library.function<Function>(name);
  }
}

Nvml load_functions(const Library& library) {
  Nvml nvml{};
  load(library, nvml.init, {"nvmlInit_v2", "nvmlInit"});
  load(library, nvml.shutdown, {"nvmlShutdown"});
  load(library, nvml.error_text, {"nvmlErrorString"});
  load(library, nvml.by_bus_id,
       {"nvmlDeviceGetHandleByPciBusId_v2", "nvmlDeviceGetHandleByPciBusId"});
  load(library, nvml.clock, {"nvmlDeviceGetClockInfo"});
  load(library, nvml.max_clock, {"nvmlDeviceGetMaxClockInfo"});
  load(library, nvml.temperature, {"nvmlDeviceGetTemperature"});
  load(library, nvml.power, {"nvmlDeviceGetPowerUsage"});
  load(library, nvml.power_limit, {"nvmlDeviceGetEnforcedPowerLimit"});
  load(library, nvml.reasons,
       {"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"});
  load(library, nvml.processes,
       {"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2"});
  load(library, nvml.utilization, {"nvmlDeviceGetUtilizationRates"});
  load(library, nvml.memory, {"nvmlDeviceGetMemoryInfo"});
  load(library, nvml.persistence, {"nvmlDeviceGetPersistenceMode"});
  load(library, nvml.compute_mode, {"nvmlDeviceGetComputeMode"});
  load(library, nvml.mig_mode, {"nvmlDeviceGetMigMode"});
  load(library, nvml.driver_version, {"nvmlSystemGetDriverVersion"});
  return nvml;
}

/// The answer of a function that fills one number; empty when it is missing or declines.
template <typename Number, typename Function, typename... Arguments>
std::optional<Number> ask(Function function, Arguments... arguments) {
  Number value = 0;
  if (function == nullptr || function(arguments..., &value) != kNvmlSuccess) return std::nullopt;
  return value;
}

template <typename... Arguments>
std::optional<int> ask_int(Arguments... arguments) {
  const auto value = ask<unsigned>(arguments...);
  return value ? std::optional(static_cast<int>(*value)) : std::nullopt;
}

/// NVML counts milliwatts.
std::optional<double> ask_watts(NvmlResult (*function)(NvmlDevice, unsigned*), NvmlDevice device) {
  const auto value = ask<unsigned>(function, device);
  return value ? std::optional(*value / 1000.0) : std::nullopt;
}

}  // namespace

struct Telemetry::State {
  Nvml nvml{};
  NvmlDevice device = nullptr;

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    if (nvml.shutdown != nullptr) nvml.shutdown();
  }
};

Telemetry Telemetry::open(const std::string& pci_bus_id) {
  Telemetry telemetry;
  auto library = Library::open({"libnvidia-ml.so.1"});
  if (!library) {
    telemetry.problem_ = "libnvidia-ml.so.1, which comes with the driver, cannot be opened";
    return telemetry;
  }
  const Nvml nvml = load_functions(*library);
  if (nvml.init == nullptr || nvml.shutdown == nullptr || nvml.by_bus_id == nullptr) {
    telemetry.problem_ = "libnvidia-ml.so.1 lacks functions that fatune needs";
    return telemetry;
  }
  const auto problem = [&nvml](const char* doing, NvmlResult code) {
    return std::string(doing) + ": " +
           (nvml.error_text == nullptr ? std::to_string(code) : nvml.error_text(code));
  };
  if (const NvmlResult code = nvml.init(); code != kNvmlSuccess) {
    telemetry.problem_ = problem("nvmlInit", code);
    return telemetry;
  }
  auto state = std::make_shared<State>();
  state->nvml = nvml;
  if (const NvmlResult code = nvml.by_bus_id(pci_bus_id.c_str(), &state->device);
      code != kNvmlSuccess) {
    telemetry.problem_ = problem(("no device at " + pci_bus_id).c_str(), code);
    return telemetry;
  }
  telemetry.state_ = std::move(state);
  telemetry.problem_.clear();
  return telemetry;
}

Reading Telemetry::read() const {
  Reading reading;
  if (!state_) return reading;
  const auto& [nvml, device] = *state_;
  reading.sm_clock_mhz = ask_int(nvml.clock, device, kClockSm);
  reading.memory_clock_mhz = ask_int(nvml.clock, device, kClockMemory);
  reading.temperature_c = ask_int(nvml.temperature, device, kTemperatureGpu);
  reading.power_w = ask_watts(nvml.power, device);
  reading.throttle_reasons = ask<unsigned long long>(nvml.reasons, device);
  if (NvmlUtilization rates{};
      nvml.utilization != nullptr && nvml.utilization(device, &rates) == kNvmlSuccess)
    reading.busy_percent = static_cast<int>(rates.gpu);
  return reading;
}

std::optional<int> Telemetry::max_sm_clock_mhz() const {
  if (!state_) return std::nullopt;
  return ask_int(state_->nvml.max_clock, state_->device, kClockSm);
}

std::optional<double> Telemetry::power_limit_w() const {
  if (!state_) return std::nullopt;
  return ask_watts(state_->nvml.power_limit, state_->device);
}

std::optional<std::string> Telemetry::driver_version() const {
  std::array<char, 128> text{};
  if (!state_ || state_->nvml.driver_version == nullptr) return std::nullopt;
  const auto size = static_cast<unsigned>(text.size());
  if (state_->nvml.driver_version(text.data(), size) != kNvmlSuccess) return std::nullopt;
  return std::string(text.data());
}

std::optional<bool> Telemetry::mig_enabled() const {
  if (!state_ || state_->nvml.mig_mode == nullptr) return std::nullopt;
  unsigned current = 0;
  unsigned pending = 0;
  const NvmlResult code = state_->nvml.mig_mode(state_->device, &current, &pending);
  return code == kNvmlSuccess ? std::optional(current == 1) : std::nullopt;
}

std::optional<bool> Telemetry::persistence() const {
  if (!state_) return std::nullopt;
  const auto value = ask<unsigned>(state_->nvml.persistence, state_->device);
  return value ? std::optional(*value == 1) : std::nullopt;
}

std::optional<ComputeMode> Telemetry::compute_mode() const {
  if (!state_) return std::nullopt;
  const auto value = ask<unsigned>(state_->nvml.compute_mode, state_->device);
  if (!value) return std::nullopt;
  if (*value == kComputeModeDefault) return ComputeMode::kShared;
  return *value == kComputeModeProhibited ? ComputeMode::kProhibited : ComputeMode::kExclusive;
}

std::optional<std::uint64_t> Telemetry::memory_used_bytes() const {
  if (!state_ || state_->nvml.memory == nullptr) return std::nullopt;
  NvmlMemory memory{};
  const NvmlResult code = state_->nvml.memory(state_->device, &memory);
  return code == kNvmlSuccess ? std::optional<std::uint64_t>(memory.used) : std::nullopt;
}

std::vector<GpuProcess> Telemetry::compute_processes() const {
  std::vector<GpuProcess> processes;
  if (!state_ || state_->nvml.processes == nullptr) return processes;
  std::vector<NvmlProcess> found(32);
  auto count = static_cast<unsigned>(found.size());
  NvmlResult code = state_->nvml.processes(state_->device, &count, found.data());
  if (code == kNvmlTooSmall) {
    found.resize(count + 8);  // room for those that start meanwhile
    count = static_cast<unsigned>(found.size());
    code = state_->nvml.processes(state_->device, &count, found.data());
  }
  if (code != kNvmlSuccess) return processes;
  for (unsigned i = 0; i < count; ++i) {
    GpuProcess process{.pid = found[i].pid, .memory_bytes = std::nullopt};
    if (found[i].used_memory != kMemoryUnknown) process.memory_bytes = found[i].used_memory;
    processes.push_back(process);
  }
  return processes;
}

}  // namespace fatune::gpu

namespace fatune {

void fold(Conditions& conditions, const gpu::Reading& reading) {
  if (reading.sm_clock_mhz) {
    const int clock = *reading.sm_clock_mhz;
    const bool first = conditions.sm_clock_mhz_max == 0;
    conditions.sm_clock_mhz_min = first ? clock : std::min(conditions.sm_clock_mhz_min, clock);
    conditions.sm_clock_mhz_max = std::max(conditions.sm_clock_mhz_max, clock);
  }
  if (reading.memory_clock_mhz) conditions.memory_clock_mhz = *reading.memory_clock_mhz;
  if (reading.temperature_c)
    conditions.temperature_c = std::max(conditions.temperature_c, *reading.temperature_c);
  if (reading.power_w) conditions.power_w = std::max(conditions.power_w, *reading.power_w);
  conditions.throttle_reasons |= reading.throttle_reasons.value_or(0) & ~kIdleReason;
}

bool must_discard(const gpu::Reading& reading) {
  return (reading.throttle_reasons.value_or(0) & kDiscardReasons) != 0;
}

bool ConditionWatch::look() {
  const gpu::Reading reading = telemetry_->read();
  fold(conditions_, reading);
  return must_discard(reading);
}

}  // namespace fatune
