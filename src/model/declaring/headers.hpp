// headers.hpp: Finds the headers of a user's CUDA text.
#pragma once

#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include "model/kernel/kernel.hpp"

namespace fatune {

/// Adds the headers that the text includes in quotes, direct and indirect, each from the first
/// folder that has it. Those that are nowhere, or outside of the folders, are left to the loader.
void add_headers(std::string_view text, std::span<const std::filesystem::path> folders,
                 std::vector<SourceFile>& files);

/// Whether a source includes a header of the toolkit, or of the standard library.
bool includes_toolkit(std::span<const SourceFile> sources);

}  // namespace fatune
