// telemetry.cpp: Queries devices through the driver and NVML; wheels have no nvml.h.
#include "gpu/telemetry.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <type_traits>

#include <fmt/format.h>

#include "core/text.hpp"
#include "gpu/driver.hpp"
#include "gpu/library.hpp"

namespace fatune::gpu {
namespace {

// Names, values and layouts are from NVML's reference manual.
using NvmlResult = int;
constexpr NvmlResult kNvmlSuccess = 0;
constexpr NvmlResult kNvmlTooSmall = 7;
using NvmlDevice = void*;
constexpr int kClockSm = 1;
constexpr int kClockMemory = 2;
constexpr int kTemperatureGpu = 0;
constexpr std::uint64_t kMemoryUnknown = ~std::uint64_t{0};

/// nvmlProcessInfo_t of the _v2 and _v3 functions.
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

/// Member, result, arguments and symbols. The first symbol that the library has is used, because
/// NVML renamed functions.
#define FATUNE_NVML_FUNCTIONS(X)                                                              \
  X(init, NvmlResult, (), "nvmlInit_v2", "nvmlInit")                                          \
  X(shutdown, NvmlResult, (), "nvmlShutdown")                                                 \
  X(error_text, const char*, (NvmlResult), "nvmlErrorString")                                 \
  X(by_bus_id, NvmlResult, (const char*, NvmlDevice*), "nvmlDeviceGetHandleByPciBusId_v2",    \
    "nvmlDeviceGetHandleByPciBusId")                                                          \
  X(clock, NvmlResult, (NvmlDevice, int, unsigned*), "nvmlDeviceGetClockInfo")                \
  X(max_clock, NvmlResult, (NvmlDevice, int, unsigned*), "nvmlDeviceGetMaxClockInfo")         \
  X(temperature, NvmlResult, (NvmlDevice, int, unsigned*), "nvmlDeviceGetTemperature")        \
  X(power, NvmlResult, (NvmlDevice, unsigned*), "nvmlDeviceGetPowerUsage")                    \
  X(power_limit, NvmlResult, (NvmlDevice, unsigned*), "nvmlDeviceGetEnforcedPowerLimit")      \
  X(reasons, NvmlResult, (NvmlDevice, unsigned long long*),                                   \
    "nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons")    \
  X(processes, NvmlResult, (NvmlDevice, unsigned*, NvmlProcess*),                             \
    "nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2")     \
  X(utilization, NvmlResult, (NvmlDevice, NvmlUtilization*), "nvmlDeviceGetUtilizationRates") \
  X(memory, NvmlResult, (NvmlDevice, NvmlMemory*), "nvmlDeviceGetMemoryInfo")                 \
  X(persistence, NvmlResult, (NvmlDevice, unsigned*), "nvmlDeviceGetPersistenceMode")         \
  X(compute_mode, NvmlResult, (NvmlDevice, unsigned*), "nvmlDeviceGetComputeMode")            \
  X(mig_mode, NvmlResult, (NvmlDevice, unsigned*, unsigned*), "nvmlDeviceGetMigMode")         \
  X(driver_version, NvmlResult, (char*, unsigned), "nvmlSystemGetDriverVersion")

struct Nvml {
#define FATUNE_DECLARE(member, result, arguments, ...) result(*member) arguments = nullptr;
  FATUNE_NVML_FUNCTIONS(FATUNE_DECLARE)
#undef FATUNE_DECLARE
};

Nvml load_functions(const Library& library) {
  Nvml nvml;
  const auto load = [&](auto& function, std::initializer_list<const char*> names) {
    for (const char* name : names) {
      if (function == nullptr)
        function = library.function<std::remove_reference_t<decltype(function)>>(name);
    }
  };
#define FATUNE_LOAD(member, result, arguments, ...) load(nvml.member, {__VA_ARGS__});
  FATUNE_NVML_FUNCTIONS(FATUNE_LOAD)
#undef FATUNE_LOAD
  return nvml;
}

/// Returns the value that a function writes to its last argument; empty if it is missing or fails.
template <typename Answer, typename Function, typename... Arguments>
std::optional<Answer> ask(Function function, Arguments... arguments) {
  Answer value{};
  if (function == nullptr || function(arguments..., &value) != kNvmlSuccess) return std::nullopt;
  return value;
}

template <typename... Arguments>
std::optional<int> ask_int(Arguments... arguments) {
  const auto value = ask<unsigned>(arguments...);
  return value ? std::optional(static_cast<int>(*value)) : std::nullopt;
}

/// Reads all attributes and returns the first failure.
CUresult read_attributes(CUdevice device, DeviceFacts& facts) {
  CUresult first_failure = CUDA_SUCCESS;
  const auto ask = [&](CUdevice_attribute attribute) {
    int value = 0;
    const CUresult code = driver().device_attribute(&value, attribute, device);
    if (first_failure == CUDA_SUCCESS) first_failure = code;
    return value;
  };
  facts.major = ask(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  facts.minor = ask(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  facts.sm_count = ask(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  facts.max_shared_block = ask(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  facts.max_shared_sm = ask(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
  facts.max_threads_block = ask(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  facts.max_threads_sm = ask(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
  facts.max_blocks_sm = ask(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
  facts.max_registers_sm = ask(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
  facts.l2_bytes = ask(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  facts.memory_bus_bits = ask(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
  facts.memory_clock_mhz = ask(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE) / 1000;
  facts.max_sm_clock_mhz = ask(CU_DEVICE_ATTRIBUTE_CLOCK_RATE) / 1000;
  facts.display_watchdog = ask(CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT) != 0;
  return first_failure;
}

}  // namespace

std::string uuid_text(const char (&bytes)[16]) {
  std::string text = "GPU";
  for (std::size_t i = 0; i < 16; ++i) {
    if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", static_cast<unsigned char>(bytes[i]));
  }
  return text;
}

Result<int> device_count() {
  FATUNE_TRY_STATUS(load_driver());
  int count = 0;
  FATUNE_TRY_STATUS(check(driver().device_count(&count), "cannot count the devices"));
  if (count == 0) return device_error("the NVIDIA driver finds no GPU");
  return count;
}

Result<DeviceFacts> device_facts(int ordinal) {
  FATUNE_TRY(const int count, device_count());
  if (ordinal < 0 || ordinal >= count) {
    return usage_error(fmt::format(
        "--device: there is no device {}; this machine has {}, numbered from 0", ordinal, count));
  }
  DeviceFacts facts;
  facts.ordinal = ordinal;
  const std::string doing = fmt::format("cannot ask device {} for its properties", ordinal);
  CUdevice device = 0;
  FATUNE_TRY_STATUS(check(driver().device(&device, ordinal), doing));
  std::array<char, 256> name{};
  FATUNE_TRY_STATUS(
      check(driver().device_name(name.data(), static_cast<int>(name.size()), device), doing));
  facts.name = name.data();
  CUuuid uuid{};
  FATUNE_TRY_STATUS(check(driver().device_uuid(&uuid, device), doing));
  facts.uuid = uuid_text(uuid.bytes);
  std::array<char, 32> bus{};
  FATUNE_TRY_STATUS(
      check(driver().device_pci_bus_id(bus.data(), static_cast<int>(bus.size()), device), doing));
  facts.pci_bus_id = lower(bus.data());  // lower case as in the system's tools
  std::size_t memory = 0;
  FATUNE_TRY_STATUS(check(driver().device_memory(&memory, device), doing));
  facts.memory_bytes = static_cast<std::int64_t>(memory);
  FATUNE_TRY_STATUS(check(read_attributes(device, facts), doing));
  facts.cuda_driver = cuda_version_text(driver_version());
  facts.driver = kernel_module_version();
  return facts;
}

struct Telemetry::State {
  Nvml nvml{};
  NvmlDevice device = nullptr;

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    if (nvml.shutdown != nullptr) nvml.shutdown();
  }

  /// Returns the reason why NVML is unavailable; empty on success.
  std::string open(const std::string& pci_bus_id) {
    const auto library = Library::open({"libnvidia-ml.so.1"});
    if (!library) return "libnvidia-ml.so.1, which comes with the driver, cannot be opened";
    const Nvml found = load_functions(*library);
    if (found.init == nullptr || found.shutdown == nullptr || found.by_bus_id == nullptr)
      return "libnvidia-ml.so.1 lacks functions that fatune needs";
    const auto problem = [&](const std::string& doing, NvmlResult code) {
      if (code == kNvmlSuccess) return std::string();
      return fmt::format(
          "{}: {}", doing,
          found.error_text == nullptr ? std::to_string(code) : found.error_text(code));
    };
    if (const NvmlResult code = found.init(); code != kNvmlSuccess)
      return problem("nvmlInit", code);
    nvml = found;
    return problem("no device at " + pci_bus_id, nvml.by_bus_id(pci_bus_id.c_str(), &device));
  }
};

/// Without NVML's functions every answer is empty.
Telemetry::Telemetry() : state_(std::make_shared<const State>()) {}

bool Telemetry::available() const { return state_->device != nullptr; }

Telemetry Telemetry::open(const std::string& pci_bus_id) {
  Telemetry telemetry;
  auto state = std::make_shared<State>();
  telemetry.problem_ = state->open(pci_bus_id);
  if (telemetry.problem_.empty()) telemetry.state_ = std::move(state);
  return telemetry;
}

Reading Telemetry::read() const {
  const auto& [nvml, device] = *state_;
  Reading reading;
  reading.sm_clock_mhz = ask_int(nvml.clock, device, kClockSm);
  reading.memory_clock_mhz = ask_int(nvml.clock, device, kClockMemory);
  reading.temperature_c = ask_int(nvml.temperature, device, kTemperatureGpu);
  if (const auto milliwatts = ask<unsigned>(nvml.power, device))
    reading.power_w = *milliwatts / 1000.0;
  reading.throttle_reasons = ask<unsigned long long>(nvml.reasons, device);
  if (const auto rates = ask<NvmlUtilization>(nvml.utilization, device))
    reading.busy_percent = static_cast<int>(rates->gpu);
  return reading;
}

std::optional<int> Telemetry::max_sm_clock_mhz() const {
  return ask_int(state_->nvml.max_clock, state_->device, kClockSm);
}

std::optional<double> Telemetry::power_limit_w() const {
  const auto milliwatts = ask<unsigned>(state_->nvml.power_limit, state_->device);
  return milliwatts ? std::optional(*milliwatts / 1000.0) : std::nullopt;
}

std::optional<std::string> Telemetry::driver_version() const {
  std::array<char, 128> text{};
  const auto function = state_->nvml.driver_version;
  if (function == nullptr ||
      function(text.data(), static_cast<unsigned>(text.size())) != kNvmlSuccess)
    return std::nullopt;
  return std::string(text.data());
}

std::optional<bool> Telemetry::mig_enabled() const {
  unsigned current = 0;
  const auto pending = ask<unsigned>(state_->nvml.mig_mode, state_->device, &current);
  return pending ? std::optional(current == 1) : std::nullopt;
}

std::optional<bool> Telemetry::persistence() const {
  const auto value = ask<unsigned>(state_->nvml.persistence, state_->device);
  return value ? std::optional(*value == 1) : std::nullopt;
}

std::optional<ComputeMode> Telemetry::compute_mode() const {
  const auto value = ask<unsigned>(state_->nvml.compute_mode, state_->device);
  if (!value) return std::nullopt;
  if (*value == kComputeModeDefault) return ComputeMode::kShared;
  return *value == kComputeModeProhibited ? ComputeMode::kProhibited : ComputeMode::kExclusive;
}

std::optional<std::uint64_t> Telemetry::memory_used_bytes() const {
  const auto memory = ask<NvmlMemory>(state_->nvml.memory, state_->device);
  return memory ? std::optional<std::uint64_t>(memory->used) : std::nullopt;
}

std::vector<GpuProcess> Telemetry::compute_processes() const {
  std::vector<GpuProcess> processes;
  if (state_->nvml.processes == nullptr) return processes;
  std::vector<NvmlProcess> found(32);
  auto count = static_cast<unsigned>(found.size());
  NvmlResult code = state_->nvml.processes(state_->device, &count, found.data());
  if (code == kNvmlTooSmall) {
    found.resize(count + 8);  // room for processes that start meanwhile
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
