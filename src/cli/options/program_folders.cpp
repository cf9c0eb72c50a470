// program_folders.cpp - looks upwards from the program, and at who can write what it finds.
#include "cli/options/program_folders.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/log.hpp"

namespace fatune::cli {
namespace {

namespace fs = std::filesystem;

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

/// Of the user who runs this, of the system, or of the owner of the program that runs anyway; and
/// for no other user to write to.
bool is_trusted(const fs::path& folder, uid_t program_owner) {
  struct stat found {};
  if (::stat(folder.c_str(), &found) != 0) return false;
  const bool known =
      found.st_uid == ::geteuid() || found.st_uid == 0 || found.st_uid == program_owner;
  return known && (found.st_mode & S_IWOTH) == 0;
}

/// The folder `inner` in `outer`, when it is there and both are trusted.
bool is_usable(const fs::path& program, const fs::path& outer, const char* inner) {
  struct stat built {};
  if (!is_there(outer / inner) || ::stat(program.c_str(), &built) != 0) return false;
  if (is_trusted(outer, built.st_uid) && is_trusted(outer / inner, built.st_uid)) return true;
  log::warn(
      fmt::format("{} belongs to another user or may be written by others; nothing is "
                  "loaded from it",
                  (outer / inner).string()));
  return false;
}

}  // namespace

std::vector<fs::path> checkout_folders(const fs::path& program) {
  fs::path folder = program.parent_path();
  for (int up = 0; up < 4 && !folder.empty(); ++up, folder = folder.parent_path()) {
    if (!is_there(folder / "CMakeLists.txt")) continue;
    if (is_usable(program, folder, ".deps")) return {folder / ".deps"};
    return {};
  }
  return {};
}

std::vector<fs::path> installed_folders(const fs::path& program) {
  if (program.parent_path().filename() != "bin") return {};
  const fs::path prefix = program.parent_path().parent_path();
  std::vector<fs::path> folders;
  const fs::path data = prefix / "share" / "fatune";
  if (is_usable(program, data, "cuda")) folders.push_back(data);
  const fs::path site = prefix.parent_path();
  const bool package = prefix.filename() == "fatune" && is_there(prefix / "__init__.py");
  if (package && is_usable(program, site, "nvidia")) folders.push_back(site);
  return folders;
}

}  // namespace fatune::cli
