// scratch_folder.hpp: Declares a temporary folder for the files of one run.
#pragma once

#include <filesystem>
#include <utility>

#include "core/descriptor.hpp"
#include "core/result.hpp"

namespace fatune {

/// A folder that is removed with its content. A lock distinguishes it from folders of killed
/// processes, which the next run removes.
class ScratchFolder {
 public:
  ScratchFolder() = default;  ///< no folder
  /// Makes a folder for this user only, in the system's folder for temporary files.
  static Result<ScratchFolder> make();
  ScratchFolder(ScratchFolder&& other) noexcept
      : path_(std::exchange(other.path_, {})), lock_(std::move(other.lock_)) {}
  ScratchFolder& operator=(ScratchFolder&& other) noexcept;
  ~ScratchFolder();
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  Descriptor lock_;
};

}  // namespace fatune
