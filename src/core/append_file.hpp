// append_file.hpp: Declares an append-only file of lines that survives kills and power cuts.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string_view>

#include "core/descriptor.hpp"
#include "core/result.hpp"

namespace fatune {

/// A file opened for appending. Each line is handed to the kernel at once and survives the end of
/// this process. It is synced to disk by sync(), or by the first line at least a second later.
class AppendFile {
 public:
  static Result<AppendFile> open(const std::filesystem::path& path);
  /// Appends one line; a full disk is an error that names the path.
  Status append_line(std::string_view line);
  /// Appends complete lines, which sync() brings to the disk; errors as for append_line().
  Status append(std::string_view lines);
  Status sync();
  Result<std::uint64_t> size() const;
  /// Removes everything after the first `size` bytes.
  Status cut(std::uint64_t size);
  /// Takes an exclusive lock (flock); fails at once if another process holds it. On a file system
  /// without locks it warns and succeeds.
  Status lock_exclusively();

 private:
  Descriptor file_;
  std::filesystem::path path_;
  std::chrono::steady_clock::time_point synced_ = {};
};

}  // namespace fatune
