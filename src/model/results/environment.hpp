// environment.hpp - which device, driver and compiler stand behind a record.
#pragma once

#include <cstdint>
#include <string>

#include "core/fields_fwd.hpp"
#include "model/kernel/limits.hpp"

namespace fatune {

struct Environment {
  std::string device_name;  ///< "NVIDIA H200"
  std::string device_uuid;
  std::string driver;       ///< "580.159.04"
  std::string cuda_driver;  ///< "13.0"
  std::string nvrtc;        ///< "13.0.88" or "13.0"
  std::string fatune;       ///< version
  std::string host;         ///< kernel and CPU model, no host name
  int cpu_cores = 0;
  DeviceLimits limits;
  std::int64_t l2_bytes = 0;
  int memory_bus_bits = 0, memory_clock_mhz = 0, max_sm_clock_mhz = 0;
  bool recorded = false;  ///< a committed journal stands in for the device

  friend bool operator==(const Environment&, const Environment&) = default;
};

void fields(Environment& x, FieldList& f);

}  // namespace fatune
