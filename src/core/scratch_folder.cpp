// scratch_folder.cpp: Makes and locks scratch folders, and removes those of killed processes.
#include "core/scratch_folder.hpp"

#include <cerrno>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>

namespace fatune {
namespace {

namespace fs = std::filesystem;

constexpr const char* kScratchName = "fatune-scratch-";

}  // namespace

Result<ScratchFolder> ScratchFolder::make() {
  std::error_code problem;
  const fs::path base = fs::temp_directory_path(problem);
  const std::string pattern = (base / kScratchName).string() + "XXXXXX";
  ScratchFolder made;
  do {  // retried if another process removed the folder before it was locked
    std::string name = pattern;
    if (problem || ::mkdtemp(name.data()) == nullptr)
      return file_error("cannot make a folder for temporary files (" + pattern +
                        "); set TMPDIR to one that can be written");
    made.path_ = name;
    made.lock_ = open_file(name, O_RDONLY | O_DIRECTORY);
    if (!made.lock_.open() && errno != ENOENT) return system_failure(name, "open", errno);
    ::flock(made.lock_.raw(), LOCK_EX);
  } while (!made.lock_.open() || is_gone(made.lock_));
  remove_abandoned(base, [](const std::string& name) { return name.starts_with(kScratchName); });
  return made;
}

ScratchFolder& ScratchFolder::operator=(ScratchFolder&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(lock_, other.lock_);
  return *this;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

}  // namespace fatune
