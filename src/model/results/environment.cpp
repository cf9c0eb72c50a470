// environment.cpp - fields of an environment.
#include "model/results/environment.hpp"

#include "core/fields.hpp"

namespace fatune {

void fields(Environment& x, FieldList& f) {
  f.record("environment");
  f("device_name", x.device_name).required();
  f("device_uuid", x.device_uuid);
  f("driver", x.driver);
  f("cuda_driver", x.cuda_driver);
  f("nvrtc", x.nvrtc);
  f("fatune", x.fatune);
  f("host", x.host);
  f("cpu_cores", x.cpu_cores).at_least(0);
  f("limits", x.limits).required();
  f("l2_bytes", x.l2_bytes).at_least(0);
  f("memory_bus_bits", x.memory_bus_bits).at_least(0);
  f("memory_clock_mhz", x.memory_clock_mhz).at_least(0);
  f("max_sm_clock_mhz", x.max_sm_clock_mhz).at_least(0);
  f("recorded", x.recorded).omitted().about("A recording stood in for the device");
}

}  // namespace fatune
