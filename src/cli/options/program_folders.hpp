// program_folders.hpp - where the program lies to the folders that its build or its installation
// may have put NVRTC into.
#pragma once

#include <filesystem>
#include <vector>

namespace fatune::cli {

// Libraries from these folders are run. A folder is left out, with a warning, when it belongs to
// someone other than this user, root and the owner of the program, or when all may write to it.

/// `.deps` of the checkout that `program` was built in, where ./fatune puts the wheels: beside the
/// program or up to three folders above it.
std::vector<std::filesystem::path> checkout_folders(const std::filesystem::path& program);

/// Of PREFIX/bin/fatune: PREFIX/share/fatune. Of SITE/fatune/bin/fatune, where pip puts it: also
/// SITE, into which pip puts the wheels that fatune's asks for.
std::vector<std::filesystem::path> installed_folders(const std::filesystem::path& program);

}  // namespace fatune::cli
