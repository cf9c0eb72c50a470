// telemetry.hpp - clocks, heat, power and throttle reasons of a GPU, through NVML if it is there.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace fatune::gpu {

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

/// Bits of throttle_reasons that mean that the GPU runs below its requested clocks: power cap,
/// hardware slowdown, software and hardware thermal slowdown, power brake. From NVML's
/// documentation.
inline constexpr std::uint64_t kSlowdownReasons = 0x4 | 0x8 | 0x20 | 0x40 | 0x80;

/// Reads only; nothing here changes a setting of the GPU. Without NVML every answer is empty. Makes
/// no CUDA context, so a parent process can use it.
class Telemetry {
 public:
  Telemetry() = default;
  /// Opens libnvidia-ml.so.1 and finds the device by PCI bus id. Never fails: see problem().
  static Telemetry open(const std::string& pci_bus_id);

  bool available() const { return state_ != nullptr; }
  const std::string& problem() const { return problem_; }  ///< why it is not available

  Reading read() const;  ///< some microseconds to a millisecond
  std::optional<int> max_sm_clock_mhz() const;
  std::optional<int> max_memory_clock_mhz() const;
  std::optional<double> power_limit_w() const;
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
