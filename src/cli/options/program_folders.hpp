// program_folders.hpp: Finds the folders into which the build or an installation put NVRTC.
#pragma once

#include <filesystem>
#include <vector>

namespace fatune::cli {

/// Whether libraries of a folder may be loaded: this user, root or the owner of `program` owns the
/// folder, and others cannot write to it.
bool is_trusted(const std::filesystem::path& folder, const std::filesystem::path& program);

// The following functions leave out folders that are not trusted, with a warning.

/// `.deps` of the checkout of `program`, where ./fatune puts the wheels: at most three folders
/// above the program.
std::vector<std::filesystem::path> checkout_folders(const std::filesystem::path& program);

/// PREFIX/share/fatune of PREFIX/bin/fatune. For pip's SITE/fatune/bin/fatune also SITE, where pip
/// puts the required wheels.
std::vector<std::filesystem::path> installed_folders(const std::filesystem::path& program);

}  // namespace fatune::cli
