// telemetry.hpp - what a GPU is, asked from the driver; clocks, heat, power and throttle reasons
// through NVML, if it is there, and what they say about samples.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "model/kernel/limits.hpp"
#include "model/results/measurement.hpp"

namespace fatune::gpu {

/// The limits without their architecture.
struct DeviceFacts : DeviceLimits {
  int ordinal = 0;
  std::string name;          ///< "NVIDIA H200"
  std::string uuid;          ///< "GPU-5a1c..."
  std::string pci_bus_id;    ///< "0000:1b:00.0"
  int major = 0, minor = 0;  ///< compute capability
  std::int64_t l2_bytes = 0;
  int memory_bus_bits = 0, memory_clock_mhz = 0, max_sm_clock_mhz = 0;
  bool display_watchdog = false;  ///< the system ends long kernels by itself
  std::string cuda_driver;        ///< "13.0": newest CUDA the driver serves
  std::string driver;             ///< "580.159.04"; empty when the system does not tell
};

/// Both load the driver and need no context. No device is a device error.
Result<int> device_count();
Result<DeviceFacts> device_facts(int ordinal);

/// 16 raw bytes as "GPU-xxxxxxxx-xxxx-...".
std::string uuid_text(const char (&bytes)[16]);

/// A value that the device or its driver does not tell stays empty.
struct Reading {
  std::optional<int> sm_clock_mhz, memory_clock_mhz;
  std::optional<int> temperature_c;
  std::optional<double> power_w;
  std::optional<int> busy_percent;  ///< of the last second or less, any kernel ran on it
  std::optional<std::uint64_t> throttle_reasons;  ///< NVML's clocks-event bits
};

/// Compute mode of a GPU, as its administrator set it.
enum class ComputeMode { kShared, kExclusive, kProhibited };

struct GpuProcess {
  unsigned pid = 0;
  std::optional<std::uint64_t> memory_bytes;
};

/// Reads only; nothing here changes a setting of the GPU. Without NVML every answer is empty. Makes
/// no CUDA context, so a parent process can use it.
class Telemetry {
 public:
  Telemetry();
  /// Opens libnvidia-ml.so.1 and finds the device by PCI bus id. Never fails: see problem().
  static Telemetry open(const std::string& pci_bus_id);

  bool available() const;
  const std::string& problem() const { return problem_; }  ///< why it is not available

  Reading read() const;  ///< some microseconds to a millisecond
  std::optional<int> max_sm_clock_mhz() const;
  std::optional<double> power_limit_w() const;        ///< the lowest of those in force
  std::optional<std::string> driver_version() const;  ///< "580.159.04"
  std::optional<bool> mig_enabled() const;
  std::optional<bool> persistence() const;  ///< the driver stays loaded between programs
  std::optional<ComputeMode> compute_mode() const;
  /// By all processes and the driver.
  std::optional<std::uint64_t> memory_used_bytes() const;
  std::vector<GpuProcess> compute_processes() const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
  std::string problem_ = "not opened";
};

}  // namespace fatune::gpu

namespace fatune {

/// Reasons that throw samples away, NVML's bits: hardware slowdown, hardware thermal slowdown,
/// power brake. The software power cap is no reason: tensor kernels at full power always meet it;
/// it is recorded.
inline constexpr std::uint64_t kDiscardReasons = 0x8 | 0x40 | 0x80;
/// Nothing ran at the moment of reading: says nothing about the measurement.
inline constexpr std::uint64_t kIdleReason = 0x1;

/// Widens the clock range, or-s the reasons, keeps the highest temperature and power.
void fold(Conditions& conditions, const gpu::Reading& reading);
bool must_discard(const gpu::Reading& reading);

/// Reads the telemetry around a measurement.
class ConditionWatch {
 public:
  explicit ConditionWatch(const gpu::Telemetry& telemetry) : telemetry_(&telemetry) {}
  /// True when the samples taken since the last look must be thrown away.
  bool look();
  void count_discarded(std::int64_t samples) { conditions_.discarded_samples += samples; }
  const Conditions& conditions() const { return conditions_; }

 private:
  const gpu::Telemetry* telemetry_;
  Conditions conditions_;
};

}  // namespace fatune
