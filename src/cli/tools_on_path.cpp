// tools_on_path.cpp - looks for a program on PATH and in CUDA's folders.
#include "cli/tools_on_path.hpp"

#include <cstdlib>

#include <unistd.h>

#include "base/text.hpp"

namespace fatune::cli {
namespace {

bool executable(const std::filesystem::path& file) { return access(file.c_str(), X_OK) == 0; }

}  // namespace

std::vector<OptionalTool> optional_tools() {
  return {
      {"compute-sanitizer", "checks winners for races and bad accesses; part of the CUDA toolkit"},
      {"ncu", "reads hardware counters; Nsight Compute, part of the CUDA toolkit"},
      {"cuobjdump", "shows machine code; part of the CUDA toolkit"}};
}

std::optional<std::filesystem::path> find_tool(
    const std::string& name, const std::vector<std::filesystem::path>& cuda_roots) {
  const char* path = std::getenv("PATH");
  for (const std::string& folder : split(path == nullptr ? "" : path, ':')) {
    if (!folder.empty() && executable(std::filesystem::path(folder) / name))
      return std::filesystem::path(folder) / name;
  }
  for (const auto& root : cuda_roots) {
    if (executable(root / "bin" / name)) return root / "bin" / name;
  }
  return std::nullopt;
}

}  // namespace fatune::cli
