// batched_gemm.cpp: Finds a plan's library and opens a product with it.
#include "worker/baselines/batched_gemm.hpp"

#include <algorithm>
#include <system_error>

#include <fmt/format.h>

#include "worker/baselines/cublas_lt.hpp"
#include "worker/baselines/cutensor.hpp"

namespace fatune {

namespace fs = std::filesystem;

std::vector<std::string> gemm_library_files(const GemmLibraryNames& names,
                                            const std::vector<fs::path>& cuda_roots,
                                            const std::vector<fs::path>& site_packages) {
  std::vector<std::string> files;
  const auto add_existing = [&](const fs::path& file) {
    std::error_code ignored;
    if (!fs::exists(file, ignored)) return;
    if (std::find(files.begin(), files.end(), file.string()) == files.end())
      files.push_back(file.string());
  };
  for (const std::string& file : names.files) {
    for (const fs::path& root : cuda_roots) {
      for (const char* folder : gpu::kLibraryFolders) add_existing(root / folder / file);
    }
    files.push_back(file);
    for (const fs::path& site : site_packages) {
      for (const std::string& wheel : names.wheels) add_existing(site / wheel / file);
    }
  }
  return files;
}

Result<gpu::Library> open_gemm_library(const GemmLibraryNames& names) {
  const std::vector<fs::path> site_packages = gpu::python_site_packages();
  std::vector<gpu::TriedPlace> tried;
  auto library = gpu::Library::open(
      gemm_library_files(names, gpu::default_search_paths("", {}).cuda_roots, site_packages),
      &tried);
  if (library) return library;
  std::string text =
      fmt::format("{} could not be opened; tried:\n{}", names.title, gpu::describe(tried));
  for (const fs::path& site : site_packages) {
    for (const std::string& wheel : names.wheels)
      text += fmt::format("\n  {}: none there", (site / wheel).string());
  }
  return environment_error(fmt::format("{}\n{}", text, names.remedy));
}

std::string gemm_version_text(std::size_t version) {
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

std::string gemm_status_text(const char* text, int status) {
  return fmt::format("{} ({})", text == nullptr ? "unknown status" : text, status);
}

int cuda_type(GemmType type) {
  if (type == GemmType::kF32) return kCudaReal32F;
  return type == GemmType::kF16 ? kCudaReal16F : kCudaReal16Bf;
}

Result<std::unique_ptr<BatchedGemm>> BatchedGemm::open(const GemmPlan& plan) {
  if (plan.library == GemmLibrary::kCutensor) {
    const auto& library = cutensor();
    if (!library) return library.error();
    return CutensorGemm::make(*library, plan);
  }
  const auto& library = cublas_lt();
  if (!library) return library.error();
  return CublasLtGemm::make(*library, plan);
}

}  // namespace fatune
