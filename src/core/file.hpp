// file.hpp - reads, appends and replaces files; errors carry the path and the system's reason.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace fatune {

/// Whole file; a path ending in .gz is decompressed.
Result<std::string> read_file(const std::filesystem::path& path);
/// Decompresses gzip bytes; returns the input unchanged when it is not gzip.
Result<std::string> gunzip(std::string_view bytes, const std::string& where);
/// Writes beside and renames, so a reader sees the old or the new content, never half. `.gz` is
/// compressed.
Status replace_file(const std::filesystem::path& path, std::string_view content);
/// Whether replace_file could write there: to be asked before work whose result it would lose.
Status check_replaceable(const std::filesystem::path& path);
Status make_directories(const std::filesystem::path& path);

/// A file opened for appending, flushed to the kernel after every line.
class AppendFile {
 public:
  AppendFile() = default;
  AppendFile(AppendFile&& other) noexcept;
  AppendFile& operator=(AppendFile&& other) noexcept;
  ~AppendFile();
  static Result<AppendFile> open(const std::filesystem::path& path);
  /// Adds one line; a full disk is an error that names the path.
  Status append_line(std::string_view line);
  /// Takes an exclusive lock (flock); fails at once when another process holds it.
  Status lock_exclusively();

 private:
  int descriptor_ = -1;
  std::filesystem::path path_;
};

/// This program's own file, to start it again as a worker; empty without /proc.
std::filesystem::path executable_path();

}  // namespace fatune
