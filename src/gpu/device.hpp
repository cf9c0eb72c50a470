// device.hpp - what a GPU is: identity, limits and sizes, asked from the driver.
#pragma once

#include <cstdint>
#include <string>

#include "core/result.hpp"
#include "model/kernel/limits.hpp"

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

}  // namespace fatune::gpu
