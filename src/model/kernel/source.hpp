// source.hpp - the kernels at hand: those inside the program, and those of the user's folders.
#pragma once

#include <filesystem>
#include <vector>

#include "core/result.hpp"
#include "model/kernel/kernel.hpp"

namespace fatune {

/// The kernel files inside the program.
SourceTree embedded_source_tree();
Result<std::vector<KernelRef>> embedded_kernels();

/// The embedded kernels and those of the folders, sorted by name. A kernel of a later folder
/// replaces an earlier one of the same name. Headers of `common/` that a folder lacks are the
/// embedded ones.
Result<std::vector<KernelRef>> available_kernels(const std::vector<std::filesystem::path>& folders);

}  // namespace fatune
