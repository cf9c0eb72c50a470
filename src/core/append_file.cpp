// append_file.cpp: Appends lines to a file and syncs the file at least every second.
#include "core/append_file.hpp"

#include <cerrno>
#include <string>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/file.hpp"
#include "core/log.hpp"

namespace fatune {
namespace {

namespace fs = std::filesystem;

/// Longest time whose lines a power cut may lose; chosen: a sweep has about ten results a second.
constexpr std::chrono::seconds kSyncPause{1};

}  // namespace

Result<AppendFile> AppendFile::open(const fs::path& path) {
  AppendFile file;
  file.path_ = path;
  // Such a file has a name of fatune's own: a link would lead out of the folder, a FIFO would
  // block.
  file.file_ = open_file(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK);
  if (!file.file_.open()) return system_failure(path, "open for appending", errno);
  sync_folder(path);
  return file;
}

Status AppendFile::append_line(std::string_view line) {
  FATUNE_CHECK(line.find('\n') == std::string_view::npos, "a line has no line break in it");
  FATUNE_TRY_STATUS(append(std::string(line) + "\n"));
  return std::chrono::steady_clock::now() - synced_ < kSyncPause ? Status() : sync();
}

Status AppendFile::append(std::string_view lines) {
  FATUNE_CHECK(file_.open(), "append needs an opened file");
  const auto before = size();
  if (!before) return before.error();
  const int reason = write_all(file_, lines);
  if (reason == 0) return {};
  // A partial line would corrupt the next one. If the cut fails too, readers drop the partial line.
  static_cast<void>(cut(*before));
  return system_failure(path_, "append", reason);
}

Status AppendFile::sync() {
  // A pipe or a device cannot be synced.
  if (uninterrupted([&] { return ::fdatasync(file_.raw()); }) != 0 && errno != EINVAL &&
      errno != EROFS)
    return system_failure(path_, "append", errno);
  synced_ = std::chrono::steady_clock::now();
  return {};
}

Result<std::uint64_t> AppendFile::size() const {
  struct stat now {};
  if (::fstat(file_.raw(), &now) != 0) return system_failure(path_, "append", errno);
  return static_cast<std::uint64_t>(now.st_size);
}

Status AppendFile::cut(std::uint64_t size) {
  const auto end = static_cast<off_t>(size);
  if (uninterrupted([&] { return ::ftruncate(file_.raw(), end); }) == 0) return {};
  return system_failure(path_, "cut", errno);
}

Status AppendFile::lock_exclusively() {
  FATUNE_CHECK(file_.open(), "lock_exclusively needs an opened file");
  if (uninterrupted([&] { return ::flock(file_.raw(), LOCK_EX | LOCK_NB); }) == 0) return {};
  const bool none = errno == ENOLCK || errno == EOPNOTSUPP || errno == ENOSYS;
  if (none) {  // for example a network file system
    log::warn(path_.string() + ": its file system has no locks; keep other sweeps out yourself");
    return {};
  }
  if (errno == EWOULDBLOCK) return file_error(path_.string() + ": in use by another process");
  return system_failure(path_, "lock", errno);
}

}  // namespace fatune
