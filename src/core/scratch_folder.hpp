// scratch_folder.hpp - a folder for the files of one run, gone with everything in it afterwards.
#pragma once

#include <filesystem>
#include <utility>

#include "core/result.hpp"

namespace fatune {

class ScratchFolder {
 public:
  /// In the system's folder for temporary files; only this user can read it.
  static Result<ScratchFolder> make();
  ScratchFolder(ScratchFolder&& other) noexcept;
  ScratchFolder& operator=(ScratchFolder&&) = delete;
  ~ScratchFolder();
  const std::filesystem::path& path() const { return path_; }

 private:
  explicit ScratchFolder(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

}  // namespace fatune
