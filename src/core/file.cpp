// file.cpp - paths to bytes and bytes to paths, by system calls whose failures are told in full.
#include "core/file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#define ZLIB_CONST  // zlib then takes its input as const
#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <optional>
#include <system_error>

#include <stdlib.h>
#include <zlib.h>

#include "core/text.hpp"

namespace fatune {
namespace {

namespace fs = std::filesystem;

Error system_failure(const fs::path& path, const std::string& doing, int reason) {
  return file_error(path.string() + ": cannot " + doing + ": " +
                    std::generic_category().message(reason));
}

/// 0 or the system's reason.
int write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

/// Of a FIFO or a terminal: waits until there is something to read, or its end.
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

Result<std::string> read_bytes(const fs::path& path, std::size_t limit) {
  // Without O_NONBLOCK, open waits for a FIFO's writer.
  Descriptor file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!file.open()) return system_failure(path, "open", errno);
  struct stat what {};
  if (::fstat(file.raw(), &what) != 0) return system_failure(path, "read", errno);
  std::string bytes;
  std::array<char, 1 << 16> chunk;
  for (;;) {
    if (!S_ISREG(what.st_mode)) FATUNE_TRY_STATUS(wait_for_bytes(file, path));
    const ssize_t count = ::read(file.raw(), chunk.data(), chunk.size());
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count < 0) return system_failure(path, "read", errno);
    if (count == 0) return bytes;
    bytes.append(chunk.data(), static_cast<std::size_t>(count));
    FATUNE_TRY_STATUS(check_size(bytes, limit, path.string()));
  }
}

// zlib's window size with 16 added asks for the gzip format.
constexpr int kGzip = MAX_WBITS + 16;
/// A kilobyte of gzip can stand for a megabyte; journals shrink by 10 to 25 times. Chosen.
constexpr std::size_t kLargestRatio = 100;

/// Hands zlib, which counts in 32 bits, the next of `bytes` once it has none left.
void feed(z_stream& stream, std::string_view& bytes) {
  if (stream.avail_in > 0) return;
  const std::string_view part = bytes.substr(0, 1U << 30U);
  stream.next_in = reinterpret_cast<const Bytef*>(part.data());
  stream.avail_in = static_cast<uInt>(part.size());
  bytes.remove_prefix(part.size());
}

/// Adds what zlib makes of it to `out`; its state.
int step(z_stream& stream, std::string& out, int (*run)(z_stream*, int), int flush) {
  std::array<unsigned char, 1 << 16> chunk;
  stream.next_out = chunk.data();
  stream.avail_out = static_cast<uInt>(chunk.size());
  const int state = run(&stream, flush);
  out.append(reinterpret_cast<const char*>(chunk.data()), chunk.size() - stream.avail_out);
  return state;
}

std::string gzip(std::string_view bytes) {
  z_stream stream{};
  const int ready = deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, kGzip, MAX_MEM_LEVEL,
                                 Z_DEFAULT_STRATEGY);
  FATUNE_CHECK(ready == Z_OK, "zlib accepts these constants");
  std::string out;
  int state = Z_OK;
  while (state != Z_STREAM_END) {
    feed(stream, bytes);
    state = step(stream, out, deflate, bytes.empty() ? Z_FINISH : Z_NO_FLUSH);
  }
  deflateEnd(&stream);
  return out;
}

/// What a path that is to be written leads to, its symbolic links followed.
struct Target {
  fs::path path;
  std::optional<mode_t> mode{};  ///< of the regular file that is there, which a new one takes over
  bool in_place = false;         ///< a device, a FIFO, an open file: to be written to, not replaced
};

Target find_target(fs::path path) {
  constexpr int kMostLinks = 40;  // as many as Linux follows
  struct stat there {};
  const bool found = ::stat(path.c_str(), &there) == 0;
  if (found && !S_ISREG(there.st_mode) && !S_ISDIR(there.st_mode))
    return {path, std::nullopt, true};
  std::error_code ignored;
  for (int i = 0; i < kMostLinks && fs::is_symlink(path, ignored); ++i) {
    // /dev/stdout is one: what the link names may be gone, or somebody's log.
    if (path.string().starts_with("/proc/")) return {path, std::nullopt, true};
    path = path.parent_path() / fs::read_symlink(path, ignored);
  }
  if (!found) return {path};
  return {path, there.st_mode & (S_IRWXU | S_IRWXG | S_IRWXO)};
}

Status write_in_place(const fs::path& path, std::string_view content) {
  Descriptor file(::open(path.c_str(), O_WRONLY | O_APPEND | O_NOCTTY | O_CLOEXEC));
  if (!file.open()) return system_failure(path, "write", errno);
  if (const int reason = write_all(file.raw(), content)) {
    return system_failure(path, "write", reason);
  }
  if (const int reason = file.close()) return system_failure(path, "write", reason);
  return {};
}

/// A name in the same folder that no other process and no other call takes.
fs::path name_beside(const fs::path& path) {
  static std::atomic<unsigned> counter = 0;
  fs::path beside = path;
  beside += fmt::format(".{}-{}.tmp", ::getpid(), counter++);
  return beside;
}

/// Writes a new file that is to take the target's place; on failure it may be there in part.
Status write_new(const fs::path& path, const Target& target, std::string_view content) {
  const fs::path& named = target.path;
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!file.open()) return system_failure(named, "write", errno);
  if (target.mode && ::fchmod(file.raw(), *target.mode) != 0) {
    return system_failure(named, "keep the permissions", errno);
  }
  if (const int reason = write_all(file.raw(), content)) {
    return system_failure(named, "write", reason);
  }
  if (::fsync(file.raw()) != 0) return system_failure(named, "write", errno);
  if (const int reason = file.close()) return system_failure(named, "write", reason);
  return {};
}

}  // namespace

Status check_size(std::string_view text, std::size_t limit, const std::string& where) {
  if (text.size() <= limit) return {};
  return file_error(
      fmt::format("{}: holds more than {}, the most that is read", where, describe(Bytes(limit))));
}

Result<std::string> read_file(const fs::path& path, std::size_t limit) {
  FATUNE_TRY(std::string bytes, read_bytes(path, limit));
  if (path.extension() != ".gz") return bytes;
  return gunzip(bytes, path.string(), limit);
}

Result<std::string> gunzip(std::string_view bytes, const std::string& where, std::size_t limit) {
  if (!bytes.starts_with("\x1f\x8b")) return std::string(bytes);
  const std::size_t plausible = std::max(kUsualFile, kLargestRatio * bytes.size());
  z_stream stream{};
  FATUNE_CHECK(inflateInit2(&stream, kGzip) == Z_OK, "zlib accepts this constant");
  std::string out;
  int state = Z_OK;
  while (state == Z_OK && out.size() <= std::min(limit, plausible)) {
    feed(stream, bytes);
    state = step(stream, out, inflate, Z_NO_FLUSH);
    const bool another = state == Z_STREAM_END && stream.avail_in + bytes.size() > 0;
    if (another) state = inflateReset(&stream);  // a file may be several, one after the other
  }
  const std::string reason = stream.msg ? stream.msg : "it ends too early";
  inflateEnd(&stream);
  FATUNE_TRY_STATUS(check_size(out, limit, where));
  if (out.size() > plausible) {
    return file_error(
        fmt::format("{}: unpacks to more than {} times its size", where, kLargestRatio));
  }
  if (state != Z_STREAM_END) return file_error(where + ": broken gzip data: " + reason);
  return out;
}

Status replace_file(const fs::path& path, std::string_view content) {
  const std::string packed = path.extension() == ".gz" ? gzip(content) : std::string(content);
  const Target target = find_target(path);
  if (target.in_place) return write_in_place(path, packed);
  const fs::path beside = name_beside(target.path);
  Status written = write_new(beside, target, packed);
  if (written && ::rename(beside.c_str(), target.path.c_str()) != 0) {
    written = system_failure(path, "replace", errno);
  }
  if (!written) ::unlink(beside.c_str());
  return written;
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
  Status written = write_new(beside, target, "");
  ::unlink(beside.c_str());
  return written;
}

Status make_directories(const fs::path& path) {
  std::error_code failure;
  fs::create_directories(path, failure);
  if (failure) return system_failure(path, "create this folder", failure.value());
  return {};
}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  close();
  raw_ = std::exchange(other.raw_, -1);
  return *this;
}

int Descriptor::close() {
  const int raw = std::exchange(raw_, -1);
  return raw >= 0 && ::close(raw) != 0 ? errno : 0;
}

Result<AppendFile> AppendFile::open(const fs::path& path) {
  AppendFile file;
  file.path_ = path;
  file.file_ = Descriptor(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (!file.file_.open()) return system_failure(path, "open for appending", errno);
  return file;
}

Status AppendFile::append_line(std::string_view line) {
  FATUNE_CHECK(file_.open(), "append_line needs an opened file");
  FATUNE_CHECK(line.find('\n') == std::string_view::npos, "a line has no line break in it");
  struct stat before {};
  if (::fstat(file_.raw(), &before) != 0) return system_failure(path_, "append", errno);
  const int reason = write_all(file_.raw(), std::string(line) + "\n");
  if (reason == 0) return {};
  // Half a line would spoil the next one; where cutting fails too, readers drop the cut line.
  const int cut = ::ftruncate(file_.raw(), before.st_size);
  static_cast<void>(cut);
  return system_failure(path_, "append", reason);
}

Status AppendFile::lock_exclusively() {
  FATUNE_CHECK(file_.open(), "lock_exclusively needs an opened file");
  while (::flock(file_.raw(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno == EWOULDBLOCK) return file_error(path_.string() + ": in use by another process");
    return system_failure(path_, "lock", errno);
  }
  return {};
}

Result<ScratchFolder> ScratchFolder::make() {
  std::error_code problem;
  std::string pattern = (fs::temp_directory_path(problem) / "fatune-XXXXXX").string();
  if (problem || ::mkdtemp(pattern.data()) == nullptr)
    return file_error("cannot make a folder for temporary files (" + pattern +
                      "); set TMPDIR to one that can be written");
  return ScratchFolder(pattern);
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

fs::path executable_path() {
  std::error_code failure;
  return fs::read_symlink("/proc/self/exe", failure);
}

}  // namespace fatune
