// doctor_gpu.hpp - the driver and each GPU to findings: what it is, and what disturbs it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/doctor/doctor_check.hpp"
#include "cli/doctor/doctor_tools.hpp"
#include "core/result.hpp"
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

/// A GPU as it was found.
struct GpuSeen {
  Result<gpu::DeviceFacts> facts;
  std::string telemetry_problem;  ///< empty: `watch` holds what NVML told
  GpuWatch watch;
};
struct GpusSeen {
  Status driver;  ///< why there are none
  std::vector<GpuSeen> gpus;
};

/// Watches each GPU for about half a second; makes no context and changes no setting.
GpusSeen look_at_gpus();
Checks gpu_checks(const GpusSeen& seen, const HostSystem& host);

}  // namespace fatune::cli
