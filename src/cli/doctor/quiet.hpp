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
  bool mig = false;       ///< shared in slices
  bool watchdog = false;  ///< it drives a display: the system ends long kernels
  std::optional<std::uint64_t> memory_used_bytes;
  std::optional<bool> persistence;
  std::optional<gpu::ComputeMode> compute_mode;
};
/// Reads only; changes no setting.
GpuWatch watch_gpu(const gpu::Telemetry& telemetry);

/// Other processes, seen or only felt, throttling, heat, clocks held low, slices, a display. Empty:
/// quiet.
std::vector<Noise> gpu_noise(const GpuWatch& watch);
/// What makes no timing worse but is worth knowing: a driver that unloads, a GPU for one process.
std::vector<Noise> gpu_notes(const GpuWatch& watch);
/// A host with more work than half its cores compiles slowly and launches late.
std::optional<Noise> host_noise(double load, unsigned cores);
/// "345 of 1980 MHz, 31 degrees C".
std::string describe(const GpuWatch& watch);

}  // namespace fatune::cli
