// quiet.hpp - readings of a GPU and its host to what would make timings noisy, each with a remedy.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gpu/telemetry.hpp"

namespace fatune::cli {

struct Noise {
  std::string found, remedy;
};

/// What was seen of a GPU over about half a second.
struct GpuWatch {
  std::vector<gpu::Reading> readings;
  std::vector<gpu::GpuProcess> processes;  ///< other than this one
  std::optional<int> max_sm_clock_mhz;
  bool mig = false;  ///< shared in slices
};
/// Reads only; changes no setting.
GpuWatch watch_gpu(const gpu::Telemetry& telemetry);

/// Other processes, throttling, heat, clocks held low, slices. Empty: quiet.
std::vector<Noise> gpu_noise(const GpuWatch& watch);
/// A host with more work than half its cores compiles slowly and launches late.
std::optional<Noise> host_noise(double load, unsigned cores);
/// "345 of 1980 MHz, 31 degrees C".
std::string describe(const GpuWatch& watch);

}  // namespace fatune::cli
