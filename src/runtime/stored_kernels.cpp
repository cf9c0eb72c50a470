// stored_kernels.cpp - reads the index and the cubins it names, and compares their hashes.
#include "runtime/stored_kernels.hpp"

#include <fmt/format.h>

#include "core/file.hpp"
#include "core/hash.hpp"
#include "model/wisdom/kernel_facts.hpp"

namespace fatune::rt {
namespace {

Failure tampered(const std::filesystem::path& file, const std::string& why) {
  return {FATUNE_RT_TAMPERED,
          fmt::format("{}: {}; export the folder again, or restore the file", file.string(), why)};
}

Outcome<std::string> load_cubin(const std::filesystem::path& path, const CubinFacts& wanted) {
  FATUNE_TRY(std::string cubin, read_file(path));
  if (cubin.size() != static_cast<std::size_t>(wanted.bytes)) {
    return tampered(path, fmt::format("has {} bytes instead of {}: it was cut or changed",
                                      cubin.size(), wanted.bytes));
  }
  if (sha256_hex(cubin) != wanted.sha256) {
    return tampered(path, "its SHA-256 is not the index's: it was changed after the export");
  }
  return cubin;
}

}  // namespace

Outcome<std::vector<StoredKernel>> load_wisdom(const std::filesystem::path& folder) {
  const std::filesystem::path path = wisdom_index_path(folder);
  FATUNE_TRY(const std::string text, read_file(path));
  FATUNE_TRY(WisdomIndex index, read_wisdom_index(text, path.string()));
  if (!index.intact) {
    return tampered(path,
                    "its SHA-256 is not that of its kernels: they were changed after the "
                    "export");
  }
  std::vector<StoredKernel> kernels;
  kernels.reserve(index.kernels.size());
  for (KernelFacts& each : index.kernels) {
    FATUNE_TRY(std::string cubin, load_cubin(wisdom_cubin_path(folder, each), each.cubin));
    kernels.push_back({std::move(each), std::move(cubin)});
  }
  return kernels;
}

}  // namespace fatune::rt
