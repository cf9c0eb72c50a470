// scratch_folder.cpp - makes a folder of a unique name, and removes it.
#include "core/scratch_folder.hpp"

#include <string>
#include <system_error>

#include <stdlib.h>

namespace fatune {

Result<ScratchFolder> ScratchFolder::make() {
  std::error_code problem;
  const auto parent = std::filesystem::temp_directory_path(problem);
  std::string pattern = (parent / "fatune-XXXXXX").string();
  if (problem || ::mkdtemp(pattern.data()) == nullptr)
    return file_error("cannot make a folder for temporary files (" + pattern +
                      "); set TMPDIR to one that can be written");
  return ScratchFolder(pattern);
}

ScratchFolder::ScratchFolder(ScratchFolder&& other) noexcept
    : path_(std::exchange(other.path_, std::filesystem::path())) {}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace fatune
