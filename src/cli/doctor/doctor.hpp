// doctor.hpp: Declares doctor's findings on this machine and the lines that install missing parts.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options/settings.hpp"
#include "core/confinement.hpp"
#include "core/fields_fwd.hpp"
#include "core/result.hpp"
#include "gpu/telemetry.hpp"
#include "model/results/document.hpp"

namespace fatune::cli {

enum class Health {
  kGood,
  kNote,   ///< works without it
  kNoisy,  ///< works, but timings will vary
  kBad,    ///< cannot tune on a GPU
};

struct Check {
  Health health = Health::kGood;
  std::string group;   ///< "GPU", "Compiler", "Machine", "Baselines", "Tools"
  std::string what;    ///< "NVRTC"
  std::string found;   ///< version and place, or the missing part
  std::string remedy;  ///< command or advice; empty for kGood
};
using Checks = std::vector<Check>;

/// Whether no check is kBad.
bool is_able(const Checks& checks);
/// Whether no check is kNoisy.
bool is_quiet(const Checks& checks);
/// Text with a heading for each group, a line for each finding with its remedy below, and the
/// conclusion.
std::string checks_text(const Checks& checks, const Paint& paint);
/// fatune.doctor/1
struct DoctorDocument {
  DocumentHead head;
  Checks checks;
};
void fields(Check& x, FieldList& f);
void fields(DoctorDocument& x, FieldList& f);

/// Properties of the machine that decide the install lines.
struct HostSystem {
  std::string distribution{};    ///< ID of os-release: "debian", "ubuntu"; empty: unknown
  std::string driver{};          ///< "580.159.04"; empty: none
  std::filesystem::path data{};  ///< fatune's data folder
  bool container = false;
  bool root = false;
  bool pip = false;  ///< `python3 -I -m pip` works
};

/// Value of ID in the text of /etc/os-release, without quotes.
std::string distribution_id(std::string_view os_release);
/// CUDA release whose libraries the driver can load: 13 from driver 580 on, and without a driver.
int cuda_major(const HostSystem& host);

std::string driver_line(const HostSystem& host);
/// Installs NVRTC and the headers that kernels include into the data folder.
std::string nvrtc_line(const HostSystem& host);
std::string cudnn_line(const HostSystem& host);
std::string cublas_line(const HostSystem& host);
/// Installs PyTorch into a virtual environment in the data folder, which fatune finds by itself.
std::string torch_line(const HostSystem& host);
/// Installs a tool of the CUDA toolkit: compute-sanitizer, ncu, cuobjdump.
std::string tool_line(std::string_view tool, const HostSystem& host);

/// Reads the properties that decide install lines. `driver` is the GPU driver's version; empty
/// without a driver.
HostSystem look_at_host(const Settings& settings, const std::string& driver);

/// Returns "13.0" for a cuda.h that defines CUDA_VERSION 13000; empty without the definition.
std::string cuda_release(std::string_view cuda_h);

/// Checks NVRTC by compiling a line, and the headers that kernels include.
Checks compiler_checks(const Settings& settings, const HostSystem& host);
/// Checks the confinement that removes unneeded rights from workers.
Check sandbox_check(const Confinement& here);
/// Checks cores, the compilation cache and the workers' sandbox.
Checks machine_checks(const Settings& settings);
/// Checks baselines. Tuning needs none of them.
Checks baseline_checks(const Settings& settings, const HostSystem& host);
/// Checks the MPI plug-in, and gives the Open MPI options with which a sweep outlives a rank.
Check mpi_check(const HostSystem& host);
/// Checks NVIDIA's command-line tools and MPI.
Checks tool_checks(const Settings& settings, const HostSystem& host);

struct Noise {
  std::string found, remedy;
};

/// Readings of a GPU over about half a second.
struct GpuWatch {
  std::vector<gpu::Reading> readings;
  std::vector<gpu::GpuProcess> processes;  ///< processes other than this process
  std::optional<int> max_sm_clock_mhz;
  bool mig = false;       ///< shared in slices
  bool watchdog = false;  ///< the GPU drives a display: the system ends long kernels
  std::optional<std::uint64_t> memory_used_bytes;
  std::optional<bool> persistence;
  std::optional<gpu::ComputeMode> compute_mode;
};
/// Reads telemetry. Changes no setting.
GpuWatch watch_gpu(const gpu::Telemetry& telemetry);

/// Reasons for varying timings: other processes, throttling, heat, low clocks, MIG slices, a
/// display. Empty on a quiet GPU.
std::vector<Noise> gpu_noise(const GpuWatch& watch);
/// Notes without effect on timings: a driver that unloads, a GPU limited to one process.
std::vector<Noise> gpu_notes(const GpuWatch& watch);
/// Noise of the host: load above half the cores slows compilation and delays launches.
std::optional<Noise> host_noise(double load, unsigned cores);
/// Clock and temperature: "345 of 1980 MHz, 31 degrees C".
std::string describe(const GpuWatch& watch);

/// Facts and readings of a GPU.
struct GpuSeen {
  Result<gpu::DeviceFacts> facts;
  std::string telemetry_problem;  ///< empty: `watch` holds the readings of NVML
  GpuWatch watch;
};
struct GpusSeen {
  Status driver;  ///< reason if the driver finds no GPU
  std::vector<GpuSeen> gpus;
};

/// Watches each GPU for about half a second. Creates no context and changes no setting.
GpusSeen look_at_gpus();
Checks gpu_checks(const GpusSeen& seen, const HostSystem& host);

}  // namespace fatune::cli
