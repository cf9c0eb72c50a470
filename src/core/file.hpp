// file.hpp - reads, appends and replaces files; errors carry the path and the system's reason.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "core/result.hpp"

namespace fatune {

/// Limits of files, packed or not, so that no file takes the machine; chosen.
inline constexpr std::size_t kUsualFile = std::size_t{16} << 20U;
inline constexpr std::size_t kLargeFile = std::size_t{256} << 20U;  ///< journals, results
/// Fails when there is more: what reads a text needs several times its size.
Status check_size(std::string_view text, std::size_t limit, const std::string& where);
/// Whole file; a path ending in .gz is decompressed. A FIFO that is silent for 30 s is an error.
Result<std::string> read_file(const std::filesystem::path& path, std::size_t limit = kUsualFile);
/// Decompresses gzip bytes; returns the input unchanged when it is not gzip.
Result<std::string> gunzip(std::string_view bytes, const std::string& where,
                           std::size_t limit = kLargeFile);
/// Writes beside and renames, so a reader sees the old or the new content, never half. `.gz` is
/// compressed. A symbolic link is followed, the permissions of what is there stay; what is no
/// regular file, say /dev/stdout, is written to.
Status replace_file(const std::filesystem::path& path, std::string_view content);
/// Whether replace_file could write there: to be asked before work whose result it would lose.
Status check_replaceable(const std::filesystem::path& path);
Status make_directories(const std::filesystem::path& path);

/// Closes itself.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int raw) : raw_(raw) {}
  Descriptor(Descriptor&& other) noexcept : raw_(std::exchange(other.raw_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor() { close(); }

  int raw() const { return raw_; }
  bool open() const { return raw_ >= 0; }
  /// 0, or the system's reason when it finds only now that it could not write.
  int close();

 private:
  int raw_ = -1;
};

/// A file opened for appending, flushed to the kernel after every line.
class AppendFile {
 public:
  static Result<AppendFile> open(const std::filesystem::path& path);
  /// Adds one line; a full disk is an error that names the path.
  Status append_line(std::string_view line);
  /// Takes an exclusive lock (flock); fails at once when another process holds it.
  Status lock_exclusively();

 private:
  Descriptor file_;
  std::filesystem::path path_;
};

/// A folder for the files of one run, gone with everything in it afterwards.
class ScratchFolder {
 public:
  /// In the system's folder for temporary files; only this user can read it.
  static Result<ScratchFolder> make();
  ScratchFolder(ScratchFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  ~ScratchFolder();
  const std::filesystem::path& path() const { return path_; }

 private:
  explicit ScratchFolder(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

/// This program's own file, to start it again as a worker; empty without /proc.
std::filesystem::path executable_path();

}  // namespace fatune
