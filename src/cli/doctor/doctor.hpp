// doctor.hpp - driver, GPUs, compiler, libraries and programs of this machine to findings, the
// lines that install what is missing, and the text or JSON that doctor prints.
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
  std::string found;   ///< version and place; else what is missing
  std::string remedy;  ///< a line to run, or what to do; empty when all is well
};
using Checks = std::vector<Check>;

/// Nothing is kBad.
bool is_able(const Checks& checks);
/// Nothing is kNoisy.
bool is_quiet(const Checks& checks);
/// A heading for each group, a line for each finding, its remedy below it, and the conclusion.
std::string checks_text(const Checks& checks, const Paint& paint);
/// fatune.doctor/1
struct DoctorDocument {
  DocumentHead head;
  Checks checks;
};
void fields(Check& x, FieldList& f);
void fields(DoctorDocument& x, FieldList& f);

/// What a line that installs something depends on.
struct HostSystem {
  std::string distribution{};    ///< ID of os-release: "debian", "ubuntu"; empty: unknown
  std::string driver{};          ///< "580.159.04"; empty: none
  std::filesystem::path data{};  ///< fatune's own folder of data, in which it looks
  bool container = false;
  bool root = false;
  bool pip = false;  ///< `python3 -m pip` works
};

/// The value of ID in the text of /etc/os-release, without quotes.
std::string distribution_id(std::string_view os_release);
/// The CUDA release whose libraries the driver can load: 13 from 580 on, and for a driver to come.
int cuda_major(const HostSystem& host);

std::string driver_line(const HostSystem& host);
/// NVRTC with the headers that kernels include, into the data folder.
std::string nvrtc_line(const HostSystem& host);
std::string cudnn_line(const HostSystem& host);
std::string cublas_line(const HostSystem& host);
/// Into a virtual environment in the data folder, which fatune finds by itself.
std::string torch_line(const HostSystem& host);
/// A tool of the CUDA toolkit: compute-sanitizer, ncu, cuobjdump.
std::string tool_line(std::string_view tool, const HostSystem& host);

/// Asks the system what install lines depend on; `driver` is the GPU driver's version, if any.
HostSystem look_at_host(const Settings& settings, const std::string& driver);

/// "13.0" of a cuda.h that defines CUDA_VERSION 13000; empty when it does not.
std::string cuda_release(std::string_view cuda_h);

/// NVRTC, compiling a line, and the headers that kernels include.
Checks compiler_checks(const Settings& settings, const HostSystem& host);
/// What takes from workers the rights that they do not need.
Check sandbox_check(const Confinement& here);
/// Cores to compile with, the compilation cache, and the workers' sandbox.
Checks machine_checks(const Settings& settings);
/// Implementations to compare with; none of them is needed to tune.
Checks baseline_checks(const Settings& settings, const HostSystem& host);
/// The plug-in for MPI, and how to start Open MPI so that a rank may die.
Check mpi_check(const HostSystem& host);
/// NVIDIA's command-line tools, and MPI.
Checks tool_checks(const Settings& settings, const HostSystem& host);

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
