// append_file.hpp - a file that only grows, line by line, and is kept through kills and power cuts.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string_view>

#include "core/descriptor.hpp"
#include "core/result.hpp"

namespace fatune {

/// A file opened for appending. Each line is the kernel's at once, so that no end of this process
/// loses it, and the disk's at the latest with the first line a second later, and with sync().
class AppendFile {
 public:
  static Result<AppendFile> open(const std::filesystem::path& path);
  /// Adds one line; a full disk is an error that names the path.
  Status append_line(std::string_view line);
  /// Adds whole lines, which are the disk's with sync(); a full disk as for one.
  Status append(std::string_view lines);
  Status sync();
  Result<std::uint64_t> size() const;
  /// Cuts off what follows the first `size` bytes.
  Status cut(std::uint64_t size);
  /// Takes an exclusive lock (flock); fails at once when another process holds it. Where the file
  /// system has no locks, a warning says so.
  Status lock_exclusively();

 private:
  Descriptor file_;
  std::filesystem::path path_;
  std::chrono::steady_clock::time_point synced_ = {};
};

}  // namespace fatune
