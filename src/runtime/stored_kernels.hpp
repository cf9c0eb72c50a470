// stored_kernels.hpp - a folder of wisdom to kernels whose every byte was checked.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "model/wisdom/kernel_facts.hpp"
#include "runtime/outcome.hpp"

namespace fatune::rt {

struct StoredKernel {
  KernelFacts facts;
  std::string cubin;
};

/// In the index's order. Files that are missing or make no sense are BAD_FILE; those that are not
/// what was exported TAMPERED. The message names the file.
Outcome<std::vector<StoredKernel>> load_wisdom(const std::filesystem::path& folder);

}  // namespace fatune::rt
