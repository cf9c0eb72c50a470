// file.cpp: Reads and replaces files, within limits of size and time.
#include "core/file.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <optional>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/gzip.hpp"
#include "core/text.hpp"

namespace fatune {
namespace {

namespace fs = std::filesystem;

/// Waits until a FIFO or terminal has bytes or ends.
Status wait_for_bytes(const Descriptor& file, const fs::path& path) {
  constexpr int kMostSilentSeconds = 30;  // chosen
  pollfd wanted{file.raw(), POLLIN, 0};
  const int ready = ::poll(&wanted, 1, kMostSilentSeconds * 1000);
  if (ready > 0) return {};
  if (ready == 0) {
    return file_error(fmt::format("{}: nothing came for {} s", path.string(), kMostSilentSeconds));
  }
  if (errno == EINTR) return Error{ErrorKind::kInterrupted, path.string() + ": interrupted"};
  return system_failure(path, "read", errno);
}

fs::path folder_of(const fs::path& file) {
  return file.has_parent_path() ? file.parent_path() : fs::path(".");
}

/// True for a name in a folder of a run, which somebody else may have filled.
bool is_beside_a_journal(const fs::path& path) {
  std::error_code ignored;
  return std::ranges::any_of(
      std::array{"journal.jsonl", "journal.jsonl.gz", "ledger.jsonl", "judgements.jsonl"},
      [&](const char* name) { return fs::exists(folder_of(path) / name, ignored); });
}

enum class Kinds { kAll, kRegular };

Result<std::string> read_bytes(const fs::path& path, std::size_t limit, Kinds kinds,
                               int flags = 0) {
  // Without O_NONBLOCK, open() waits for the FIFO's writer.
  const Descriptor file = open_file(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | flags);
  if (!file.open()) return system_failure(path, "open", errno);
  struct stat what {};
  if (::fstat(file.raw(), &what) != 0) return system_failure(path, "read", errno);
  if (!S_ISREG(what.st_mode) && (kinds == Kinds::kRegular || is_beside_a_journal(path)))
    return file_error(path.string() + ": is no regular file");
  std::string bytes;
  std::array<char, 1 << 16> chunk;
  for (;;) {
    if (!S_ISREG(what.st_mode)) FATUNE_TRY_STATUS(wait_for_bytes(file, path));
    const ssize_t count =
        uninterrupted([&] { return ::read(file.raw(), chunk.data(), chunk.size()); });
    if (count < 0 && errno == EAGAIN) continue;
    if (count < 0) return system_failure(path, "read", errno);
    if (count == 0) return bytes;
    // Instead of twice the limit.
    if (bytes.size() > limit / 2) bytes.reserve(limit + chunk.size());
    bytes.append(chunk.data(), static_cast<std::size_t>(count));
    FATUNE_TRY_STATUS(check_size(bytes, limit, path.string()));
  }
}

Result<std::string> read_text(const fs::path& path, std::size_t limit, Kinds kinds) {
  FATUNE_TRY(std::string bytes, read_bytes(path, limit, kinds));
  if (path.extension() == ".gz") {
    FATUNE_TRY(bytes, gunzip(bytes, path.string(), limit));
  }
  drop_byte_order_mark(bytes);
  return bytes;
}

/// The final target of a path after its symbolic links.
struct Target {
  fs::path path;
  std::optional<mode_t> mode{};  ///< of the new file, for example that of the old one
  bool in_place = false;         ///< a device, a FIFO or an open file is written, not replaced
  /// An open folder, and the path's name in it. Otherwise the name is the path.
  int folder = AT_FDCWD;
  fs::path name = path;
};

/// The target of a name that is not followed, in an open folder.
Target own_target(const fs::path& path, int folder, const fs::path& name, Access access) {
  Target target{.path = path, .folder = folder, .name = name};
  struct stat there {};
  if (access == Access::kPrivate) {
    target.mode = S_IRUSR | S_IWUSR;
  } else if (::fstatat(folder, name.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0 &&
             S_ISREG(there.st_mode)) {
    target.mode = there.st_mode & (S_IRWXU | S_IRWXG | S_IRWXO);
  }
  return target;
}

Target find_target(fs::path path) {
  std::error_code ignored;
  if (fs::is_symlink(path, ignored) && is_beside_a_journal(path))
    return own_target(path, AT_FDCWD, path, Access::kUsual);
  constexpr int kMostLinks = 40;  // Linux's limit
  struct stat there {};
  const bool found = ::stat(path.c_str(), &there) == 0;
  if (found && !S_ISREG(there.st_mode) && !S_ISDIR(there.st_mode))
    return {.path = path, .in_place = true};
  for (int i = 0; i < kMostLinks && fs::is_symlink(path, ignored); ++i) {
    // For /dev/stdout the linked name may be gone or may be another program's log.
    if (path.string().starts_with("/proc/")) return {.path = path, .in_place = true};
    path = path.parent_path() / fs::read_symlink(path, ignored);
  }
  if (!found) return {.path = path};
  return {.path = path, .mode = there.st_mode & (S_IRWXU | S_IRWXG | S_IRWXO)};
}

Status write_in_place(const fs::path& path, std::string_view content) {
  Descriptor file = open_file(path, O_WRONLY | O_APPEND | O_NOCTTY);
  if (!file.open()) return system_failure(path, "write", errno);
  if (const int reason = write_all(file, content)) {
    return system_failure(path, "write", reason);
  }
  if (const int reason = file.close()) return system_failure(path, "write", reason);
  return {};
}

/// Returns a name in the same folder that is unique among processes and calls.
fs::path name_beside(const fs::path& path) {
  static std::atomic<unsigned> counter = 0;
  fs::path beside = path;
  beside += fmt::format(".{}-{}.tmp", ::getpid(), counter++);
  return beside;
}

/// True if name_beside() makes such names for the file.
bool is_beside(const std::string& file, std::string_view name) {
  constexpr std::string_view kEnd = ".tmp";
  if (!name.starts_with(file + ".") || !name.ends_with(kEnd)) return false;
  name.remove_prefix(file.size() + 1);
  name.remove_suffix(std::min(kEnd.size(), name.size()));
  return !name.empty() && name.find_first_not_of("0123456789-") == std::string_view::npos;
}

/// Writes a new file for the target; after a failure it may be incomplete. The file is locked until
/// it is complete, so that no writer removes it as abandoned.
Status write_new(const fs::path& name, const Target& target, std::string_view content,
                 Descriptor& file) {
  const fs::path& named = target.path;
  do {  // retried if another writer removed the file before it was locked
    file = open_file(name, O_WRONLY | O_CREAT | O_EXCL, target.mode.value_or(0666), target.folder);
    if (!file.open()) return system_failure(named, "write", errno);
    // On file systems without locks no file is removed as abandoned.
    ::flock(file.raw(), LOCK_EX);
  } while (is_gone(file));
  if (target.mode && ::fchmod(file.raw(), *target.mode) != 0) {
    return system_failure(named, "keep the permissions", errno);
  }
  if (const int reason = write_all(file, content)) return system_failure(named, "write", reason);
  if (uninterrupted([&] { return ::fsync(file.raw()); }) != 0)
    return system_failure(named, "write", errno);
  return {};
}

/// Makes one folder, unless it is there. Returns 0 or errno.
int make_folder(int folder, const fs::path& name, Access access) {
  const bool is_private = access == Access::kPrivate;
  if (::mkdirat(folder, name.c_str(), is_private ? S_IRWXU : 0777) != 0)
    return errno == EEXIST ? 0 : errno;
  // The umask may have taken the user's own rights.
  return is_private && ::fchmodat(folder, name.c_str(), S_IRWXU, 0) != 0 ? errno : 0;
}

Status replace(const Target& target, std::string_view content) {
  const fs::path& to = target.path;
  remove_abandoned(folder_of(to), [file = to.filename().string()](const std::string& name) {
    return is_beside(file, name);
  });
  const fs::path beside = name_beside(target.name);
  Descriptor file;
  Status written = write_new(beside, target, content, file);
  if (written &&
      ::renameat(target.folder, beside.c_str(), target.folder, target.name.c_str()) != 0) {
    written = system_failure(to, "replace", errno);
  }
  if (const int reason = file.close(); written && reason != 0) {
    return system_failure(to, "write", reason);
  }
  if (written) {
    sync_folder(to);
  } else {
    ::unlinkat(target.folder, beside.c_str(), 0);
  }
  return written;
}

std::string packed(const fs::path& path, std::string_view content) {
  return path.extension() == ".gz" ? gzip(content) : std::string(content);
}

}  // namespace

Status check_size(std::string_view text, std::size_t limit, const std::string& where) {
  if (text.size() <= limit) return {};
  return file_error(
      fmt::format("{}: holds more than {}, the most that is read", where, describe(Bytes(limit))));
}

Result<std::string> read_file(const fs::path& path, std::size_t limit) {
  return read_text(path, limit, Kinds::kAll);
}

Result<std::string> read_found_file(const fs::path& path, std::size_t limit) {
  return read_text(path, limit, Kinds::kRegular);
}

Result<std::string> read_own_file(const fs::path& path, std::size_t limit) {
  return read_bytes(path, limit, Kinds::kRegular, O_NOFOLLOW);
}

Status make_directories(const fs::path& path, Access access) {
  std::error_code failure;
  if (access == Access::kPrivate && path.has_relative_path() && !fs::exists(path, failure)) {
    FATUNE_TRY_STATUS(make_directories(path.parent_path(), access));
    if (const int reason = make_folder(AT_FDCWD, path, access))
      return system_failure(path, "create this folder", reason);
  }
  if (!path.empty()) fs::create_directories(path, failure);
  if (failure) return system_failure(path, "create this folder", failure.value());
  return {};
}

Result<Descriptor> make_folders_below(const fs::path& folder, const fs::path& name, Access access) {
  FATUNE_TRY_STATUS(make_directories(folder, access));
  Descriptor inside = open_file(folder, O_PATH | O_DIRECTORY);
  if (!inside.open()) return system_failure(folder, "open", errno);
  fs::path path = folder;
  for (const fs::path& part : name) {
    FATUNE_CHECK(part != "..", "a name of fatune's own stays below its folder");
    path /= part;
    if (const int reason = make_folder(inside.raw(), part, access))
      return system_failure(path, "create this folder", reason);
    Descriptor next = open_file(part, O_PATH | O_DIRECTORY | O_NOFOLLOW, 0, inside.raw());
    const int reason = errno;
    std::error_code ignored;
    if (!next.open())
      return system_failure(path, "open", fs::is_symlink(path, ignored) ? ELOOP : reason);
    inside = std::move(next);
  }
  return inside;
}

fs::path executable_path() {
  std::error_code failure;
  return fs::read_symlink("/proc/self/exe", failure);
}

void sync_folder(const fs::path& file) {
  const Descriptor opened = open_file(folder_of(file), O_RDONLY | O_DIRECTORY);
  if (opened.open()) ::fsync(opened.raw());
}

Status replace_file(const fs::path& path, std::string_view content) {
  const Target target = find_target(path);
  if (target.in_place) return write_in_place(path, packed(path, content));
  return replace(target, packed(path, content));
}

Status write_below(const fs::path& folder, const fs::path& name, std::string_view content,
                   Access access) {
  FATUNE_TRY(const Descriptor inside, make_folders_below(folder, name.parent_path(), access));
  return replace(own_target(folder / name, inside.raw(), name.filename(), access),
                 packed(name, content));
}

Status check_replaceable(const fs::path& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return system_failure(path, "replace", EISDIR);
  const Target target = find_target(path);
  if (target.in_place) {
    if (::access(path.c_str(), W_OK) != 0) return system_failure(path, "write", errno);
    return {};
  }
  const fs::path beside = name_beside(target.path);
  Descriptor file;
  Status written = write_new(beside, target, "", file);
  ::unlink(beside.c_str());
  return written;
}

}  // namespace fatune
