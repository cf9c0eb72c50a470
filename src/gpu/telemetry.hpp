// telemetry.hpp: Declares device facts from the driver and telemetry from NVML.
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

/// Facts of a device; the inherited limits lack the architecture.
struct DeviceFacts : DeviceLimits {
  int ordinal = 0;
  std::string name;          ///< "NVIDIA H200"
  std::string uuid;          ///< "GPU-5a1c..."
  std::string pci_bus_id;    ///< "0000:1b:00.0"
  int major = 0, minor = 0;  ///< compute capability
  std::int64_t l2_bytes = 0;
  int memory_bus_bits = 0, memory_clock_mhz = 0, max_sm_clock_mhz = 0;
  bool display_watchdog = false;  ///< the system kills long kernels
  std::string cuda_driver;        ///< newest CUDA that the driver supports: "13.0"
  std::string driver;             ///< "580.159.04"; empty if unknown
};

/// device_count() and device_facts() load the driver and need no context. No device is a device
/// error.
Result<int> device_count();
Result<DeviceFacts> device_facts(int ordinal);

/// Formats 16 raw bytes as "GPU-xxxxxxxx-xxxx-...".
std::string uuid_text(const char (&bytes)[16]);

/// One reading; values that the device or driver does not report are empty.
struct Reading {
  std::optional<int> sm_clock_mhz, memory_clock_mhz;
  std::optional<int> temperature_c;
  std::optional<double> power_w;
  std::optional<int> busy_percent;  ///< share of the last second or less in which any kernel ran
  std::optional<std::uint64_t> throttle_reasons;  ///< NVML's clocks-event reasons
};

/// Compute mode of a GPU, set by its administrator.
enum class ComputeMode { kShared, kExclusive, kProhibited };

struct GpuProcess {
  unsigned pid = 0;
  std::optional<std::uint64_t> memory_bytes;
};

/// Reads NVML and changes no setting of the GPU. Without NVML every answer is empty. No CUDA
/// context is made, so a parent process can use it.
class Telemetry {
 public:
  Telemetry();
  /// Opens libnvidia-ml.so.1 and finds the device by PCI bus id. Failures are reported by
  /// problem().
  static Telemetry open(const std::string& pci_bus_id);

  bool available() const;
  const std::string& problem() const { return problem_; }  ///< why NVML is unavailable

  Reading read() const;  ///< takes microseconds to a millisecond
  std::optional<int> max_sm_clock_mhz() const;
  std::optional<double> power_limit_w() const;        ///< the enforced limit
  std::optional<std::string> driver_version() const;  ///< "580.159.04"
  std::optional<bool> mig_enabled() const;
  std::optional<bool> persistence() const;  ///< the driver stays loaded without clients
  std::optional<ComputeMode> compute_mode() const;
  /// Memory used by all processes and the driver.
  std::optional<std::uint64_t> memory_used_bytes() const;
  std::vector<GpuProcess> compute_processes() const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
  std::string problem_ = "not opened";
};

}  // namespace fatune::gpu

namespace fatune {

/// NVML reasons that discard samples: hardware slowdown, hardware thermal slowdown, power brake.
/// The software power cap is only recorded, because tensor kernels at full power always reach it.
inline constexpr std::uint64_t kDiscardReasons = 0x8 | 0x40 | 0x80;
/// No kernel ran at the moment of reading, which says nothing about the measurement.
inline constexpr std::uint64_t kIdleReason = 0x1;

/// Widens the clock range, combines the reasons, and keeps the highest temperature and power.
void fold(Conditions& conditions, const gpu::Reading& reading);
bool must_discard(const gpu::Reading& reading);

/// Reads the telemetry around a measurement.
class ConditionWatch {
 public:
  explicit ConditionWatch(const gpu::Telemetry& telemetry) : telemetry_(&telemetry) {}
  /// True if the samples since the last call must be discarded.
  bool look();
  void count_discarded(std::int64_t samples) { conditions_.discarded_samples += samples; }
  const Conditions& conditions() const { return conditions_; }

 private:
  const gpu::Telemetry* telemetry_;
  Conditions conditions_;
};

}  // namespace fatune
