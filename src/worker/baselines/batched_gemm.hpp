// batched_gemm.hpp: Queues a plan's matrix product through cuBLASLt or cuTENSOR.
#pragma once

#include <array>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "gpu/driver.hpp"
#include "gpu/library.hpp"
#include "model/kernel/gemm.hpp"

namespace fatune {

/// The most scratch memory that an algorithm may ask for. Chosen: the vendor's recommendation for
/// Hopper.
inline constexpr std::size_t kGemmWorkspaceLimit = std::size_t{32} << 20;

/// Names of a library's files, and the command that installs it.
struct GemmLibraryNames {
  std::string title;                ///< "cuBLAS"
  std::vector<std::string> files;   ///< "libcublasLt.so.13", newest first
  std::vector<std::string> wheels;  ///< folders below site-packages: "nvidia/cu13/lib"
  std::string remedy;
};

/// Existing files in toolkits, then the loader's own names, then existing files in wheels. Each
/// version is looked for in all places before the next one.
std::vector<std::string> gemm_library_files(
    const GemmLibraryNames& names, const std::vector<std::filesystem::path>& cuda_roots,
    const std::vector<std::filesystem::path>& site_packages);

/// An environment error names every place tried and the remedy.
Result<gpu::Library> open_gemm_library(const GemmLibraryNames& names);

/// "13.0.2" of 130002: major, minor and patch.
std::string gemm_version_text(std::size_t version);
/// "CUBLAS_STATUS_NOT_SUPPORTED (15)"; `text` is the library's, and may be null.
std::string gemm_status_text(const char* text, int status);

// Values of library_types.h, by which both libraries name element types.
inline constexpr int kCudaReal32F = 0;
inline constexpr int kCudaReal16F = 2;
inline constexpr int kCudaReal16Bf = 14;
int cuda_type(GemmType type);

/// Device addresses of a, b, c.
using GemmAddresses = std::array<CUdeviceptr, 3>;

/// Batched matrix products of a plan.
class BatchedGemm {
 public:
  virtual ~BatchedGemm() = default;
  /// Opens the plan's library; needs a current context, the same at every call. A missing library
  /// is an environment error that names every place tried and the remedy. A product or an algorithm
  /// that the library does not offer is a device error.
  static Result<std::unique_ptr<BatchedGemm>> open(const GemmPlan& plan);
  /// Device memory that queue() needs; its contents need not be set.
  virtual std::size_t workspace_bytes() const = 0;
  /// Only queues. The first run, which may load code, must be outside a graph capture.
  virtual Status queue(const GemmAddresses& addresses, CUdeviceptr workspace,
                       CUstream stream) const = 0;
  /// Version and algorithm.
  virtual std::string detail() const = 0;
};
/// BatchedGemm::open, or a test's stand-in for it.
using OpenGemm = std::function<Result<std::unique_ptr<BatchedGemm>>(const GemmPlan&)>;

}  // namespace fatune
