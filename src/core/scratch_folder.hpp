// scratch_folder.hpp - a folder for the files of one run.
#pragma once

#include <filesystem>
#include <utility>

#include "core/descriptor.hpp"
#include "core/result.hpp"

namespace fatune {

/// A folder for the files of one run, gone with everything in it afterwards. It is locked
/// meanwhile, so that the next one can tell it from those that a killed process has left, and
/// removes these.
class ScratchFolder {
 public:
  ScratchFolder() = default;  ///< none
  /// In the system's folder for temporary files; only this user can read it.
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
