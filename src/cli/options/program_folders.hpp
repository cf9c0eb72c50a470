// program_folders.hpp - where the program lies to the folders that its build or its installation
// may have put NVRTC into.
#pragma once

#include <filesystem>
#include <vector>

namespace fatune::cli {

/// Libraries from a folder may be run: it is this user's, root's or the owner's of `program`, and
/// not for all to write to.
bool is_trusted(const std::filesystem::path& folder, const std::filesystem::path& program);

// Of the following, a folder that is not trusted is left out, with a warning.

/// `.deps` of the checkout that `program` was built in, where ./fatune puts the wheels: beside the
/// program or up to three folders above it.
std::vector<std::filesystem::path> checkout_folders(const std::filesystem::path& program);

/// Of PREFIX/bin/fatune: PREFIX/share/fatune. Of SITE/fatune/bin/fatune, where pip puts it: also
/// SITE, into which pip puts the wheels that fatune's asks for.
std::vector<std::filesystem::path> installed_folders(const std::filesystem::path& program);

}  // namespace fatune::cli
