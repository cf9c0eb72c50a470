// program_folders.cpp: Searches the folders around the program, and checks who can write to them.
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

/// Whether `outer/inner` exists and both folders are trusted.
bool is_usable(const fs::path& program, const fs::path& outer, const char* inner) {
  if (!is_there(outer / inner)) return false;
  if (is_trusted(outer, program) && is_trusted(outer / inner, program)) return true;
  log::warn(
      fmt::format("{} belongs to another user or may be written by others; nothing is "
                  "loaded from it",
                  (outer / inner).string()));
  return false;
}

}  // namespace

bool is_trusted(const fs::path& folder, const fs::path& program) {
  struct stat built {};
  struct stat found {};
  if (::stat(program.c_str(), &built) != 0 || ::stat(folder.c_str(), &found) != 0) return false;
  const bool known =
      found.st_uid == ::geteuid() || found.st_uid == 0 || found.st_uid == built.st_uid;
  return known && (found.st_mode & S_IWOTH) == 0;
}

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
