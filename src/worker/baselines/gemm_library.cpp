// gemm_library.cpp - a library's names and this machine's folders to an open library.
#include "worker/baselines/gemm_library.hpp"

#include <algorithm>
#include <system_error>

namespace fatune {
namespace {

namespace fs = std::filesystem;

constexpr const char* kToolkitFolders[] = {"lib64", "lib", "targets/x86_64-linux/lib",
                                           "targets/sbsa-linux/lib"};

void add_existing(std::vector<std::string>& files, const fs::path& file) {
  std::error_code ignored;
  if (!fs::exists(file, ignored)) return;
  if (std::find(files.begin(), files.end(), file.string()) == files.end())
    files.push_back(file.string());
}

}  // namespace

std::vector<std::string> gemm_library_files(const GemmLibraryNames& names,
                                            const std::vector<fs::path>& cuda_roots,
                                            const std::vector<fs::path>& site_packages) {
  std::vector<std::string> files;
  for (const std::string& file : names.files) {
    for (const fs::path& root : cuda_roots) {
      for (const char* folder : kToolkitFolders) add_existing(files, root / folder / file);
    }
    files.push_back(file);
    for (const fs::path& site : site_packages) {
      for (const std::string& wheel : names.wheels) add_existing(files, site / wheel / file);
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
  std::string text = names.title + " could not be opened; tried:\n" + gpu::describe(tried);
  for (const fs::path& site : site_packages) {
    for (const std::string& wheel : names.wheels)
      text += "\n  " + (site / wheel).string() + ": none there";
  }
  return environment_error(text + "\n" + names.remedy);
}

}  // namespace fatune
