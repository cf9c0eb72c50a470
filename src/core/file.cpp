// file.cpp - paths to bytes and bytes to paths, by system calls whose failures are told in full.
#include "core/file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#define ZLIB_CONST  // zlib then takes its input as const
#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <system_error>

#include <stdlib.h>
#include <zlib.h>

namespace fatune {
namespace {

namespace fs = std::filesystem;

Error system_failure(const fs::path& path, const std::string& doing, int reason) {
  return file_error(path.string() + ": cannot " + doing + ": " +
                    std::generic_category().message(reason));
}

/// A system call, again as long as a signal interrupts it.
template <typename Call>
auto uninterrupted(Call call) {
  for (;;) {
    const auto result = call();
    if (result >= 0 || errno != EINTR) return result;
  }
}

int open_file(const fs::path& path, int flags) {
  return uninterrupted([&] { return ::open(path.c_str(), flags | O_CLOEXEC, 0666); });
}

/// 0 or the system's reason.
int write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written =
        uninterrupted([&] { return ::write(descriptor, bytes.data(), bytes.size()); });
    if (written < 0) return errno;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

Result<std::string> read_bytes(const fs::path& path) {
  Descriptor file(open_file(path, O_RDONLY));
  if (!file.open()) return system_failure(path, "open", errno);
  std::string bytes;
  std::array<char, 1 << 16> chunk;
  for (;;) {
    const ssize_t count =
        uninterrupted([&] { return ::read(file.raw(), chunk.data(), chunk.size()); });
    if (count < 0) return system_failure(path, "read", errno);
    if (count == 0) return bytes;
    bytes.append(chunk.data(), static_cast<std::size_t>(count));
  }
}

// zlib's window size with 16 added asks for the gzip format.
constexpr int kGzip = MAX_WBITS + 16;
/// Some kilobytes of gzip can stand for gigabytes; no file of ours comes near this. Chosen.
constexpr std::size_t kLargestUnpacked = std::size_t{1} << 30U;

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

/// A power cut may cost what was appended within it; chosen: a sweep has some ten results a second.
constexpr std::chrono::seconds kSyncPause{1};

/// After a rename: the folder's entry survives a power cut. Some file systems know no such thing.
void sync_folder(const fs::path& file) {
  const fs::path folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
  const Descriptor opened(open_file(folder, O_RDONLY | O_DIRECTORY));
  if (opened.open()) ::fsync(opened.raw());
}

/// A name in the same folder that no other process and no other call takes.
fs::path name_beside(const fs::path& path) {
  static std::atomic<unsigned> counter = 0;
  fs::path beside = path;
  beside += fmt::format(".{}-{}.tmp", ::getpid(), counter++);
  return beside;
}

/// A descriptor with a lock that ends with the process, however that ends.
Descriptor locked(Descriptor file) {
  const bool held = file.open() && ::flock(file.raw(), LOCK_EX | LOCK_NB) == 0;
  return held ? std::move(file) : Descriptor();
}

bool is_gone(int descriptor) {
  struct stat found {};
  return ::fstat(descriptor, &found) == 0 && found.st_nlink == 0;
}

/// Calls `remove` with this user's entries of the folder that have such a name, and no holder of
/// their lock.
template <typename Named, typename Remove>
void remove_abandoned(const fs::path& folder, Named named, Remove remove) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    if (!named(entry.path().filename().string())) continue;
    const Descriptor file = locked(Descriptor(open_file(entry.path(), O_RDONLY | O_NOFOLLOW)));
    struct stat found {};
    if (!file.open() || ::fstat(file.raw(), &found) != 0 || found.st_uid != ::geteuid()) continue;
    remove(entry.path());
  }
}

/// Whether name_beside() makes such names for the file.
bool is_beside(const std::string& file, std::string_view name) {
  constexpr std::string_view kEnd = ".tmp";
  if (!name.starts_with(file + ".") || !name.ends_with(kEnd)) return false;
  name.remove_prefix(file.size() + 1);
  name.remove_suffix(std::min(kEnd.size(), name.size()));
  return !name.empty() && name.find_first_not_of("0123456789-") == std::string_view::npos;
}

/// Writes a new file; on failure it may be there in part. Locked until it is whole, and so is not
/// taken for one that a killed process has left.
Status write_new(const fs::path& path, const fs::path& named, std::string_view content,
                 Descriptor& file) {
  do {  // again where it was taken for abandoned before it was locked
    file = Descriptor(open_file(path, O_WRONLY | O_CREAT | O_EXCL));
    if (!file.open()) return system_failure(named, "write", errno);
    // Some file systems have no locks; there nothing is taken for abandoned either.
    ::flock(file.raw(), LOCK_EX);
  } while (is_gone(file.raw()));
  if (const int reason = write_all(file.raw(), content)) {
    return system_failure(named, "write", reason);
  }
  if (uninterrupted([&] { return ::fsync(file.raw()); }) != 0)
    return system_failure(named, "write", errno);
  return {};
}

}  // namespace

Result<std::string> read_file(const fs::path& path) {
  FATUNE_TRY(std::string bytes, read_bytes(path));
  if (path.extension() != ".gz") return bytes;
  return gunzip(bytes, path.string());
}

Result<std::string> gunzip(std::string_view bytes, const std::string& where) {
  if (!bytes.starts_with("\x1f\x8b")) return std::string(bytes);
  z_stream stream{};
  FATUNE_CHECK(inflateInit2(&stream, kGzip) == Z_OK, "zlib accepts this constant");
  std::string out;
  int state = Z_OK;
  while (state == Z_OK && out.size() <= kLargestUnpacked) {
    feed(stream, bytes);
    state = step(stream, out, inflate, Z_NO_FLUSH);
    const bool another = state == Z_STREAM_END && stream.avail_in + bytes.size() > 0;
    if (another) state = inflateReset(&stream);  // a file may be several, one after the other
  }
  const std::string reason = stream.msg ? stream.msg : "it ends too early";
  inflateEnd(&stream);
  if (out.size() > kLargestUnpacked) return file_error(where + ": unpacks to more than 1 GiB");
  if (state != Z_STREAM_END) return file_error(where + ": broken gzip data: " + reason);
  return out;
}

Status replace_file(const fs::path& path, std::string_view content) {
  const fs::path beside = name_beside(path);
  const bool packed = path.extension() == ".gz";
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  remove_abandoned(
      folder, [&](const std::string& name) { return is_beside(path.filename().string(), name); },
      [](const fs::path& left) { ::unlink(left.c_str()); });
  Descriptor file;
  Status written = write_new(beside, path, packed ? gzip(content) : std::string(content), file);
  if (written && ::rename(beside.c_str(), path.c_str()) != 0) {
    written = system_failure(path, "replace", errno);
  }
  if (const int reason = file.close(); written && reason != 0) {
    return system_failure(path, "write", reason);
  }
  if (written) {
    sync_folder(path);
  } else {
    ::unlink(beside.c_str());
  }
  return written;
}

Status check_replaceable(const fs::path& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return system_failure(path, "replace", EISDIR);
  const fs::path beside = name_beside(path);
  Descriptor file;
  Status written = write_new(beside, path, "", file);
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
  file.file_ = Descriptor(open_file(path, O_WRONLY | O_CREAT | O_APPEND));
  if (!file.file_.open()) return system_failure(path, "open for appending", errno);
  sync_folder(path);
  return file;
}

Status AppendFile::append_line(std::string_view line) {
  FATUNE_CHECK(file_.open(), "append_line needs an opened file");
  FATUNE_CHECK(line.find('\n') == std::string_view::npos, "a line has no line break in it");
  const auto before = size();
  if (!before) return before.error();
  const int reason = write_all(file_.raw(), std::string(line) + "\n");
  if (reason == 0) {
    return std::chrono::steady_clock::now() - synced_ < kSyncPause ? Status() : sync();
  }
  // Half a line would spoil the next one; where cutting fails too, readers drop the cut line.
  static_cast<void>(cut(*before));
  return system_failure(path_, "append", reason);
}

Status AppendFile::sync() {
  // A pipe or a device has no disk.
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
  while (::flock(file_.raw(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno == EWOULDBLOCK) return file_error(path_.string() + ": in use by another process");
    return system_failure(path_, "lock", errno);
  }
  return {};
}

constexpr const char* kScratchName = "fatune-scratch-";

Result<ScratchFolder> ScratchFolder::make() {
  std::error_code problem;
  const fs::path base = fs::temp_directory_path(problem);
  const std::string pattern = (base / (std::string(kScratchName) + "XXXXXX")).string();
  ScratchFolder made;
  do {  // again where it was taken for abandoned before it was locked
    std::string name = pattern;
    if (problem || ::mkdtemp(name.data()) == nullptr)
      return file_error("cannot make a folder for temporary files (" + pattern +
                        "); set TMPDIR to one that can be written");
    made.path_ = name;
    made.lock_ = Descriptor(open_file(name, O_RDONLY | O_DIRECTORY));
    if (!made.lock_.open() && errno != ENOENT) return system_failure(name, "open", errno);
    ::flock(made.lock_.raw(), LOCK_EX);
  } while (!made.lock_.open() || is_gone(made.lock_.raw()));
  remove_abandoned(
      base, [](const std::string& name) { return name.starts_with(kScratchName); },
      [](const fs::path& left) {
        std::error_code ignored;
        fs::remove_all(left, ignored);
      });
  return made;
}

ScratchFolder& ScratchFolder::operator=(ScratchFolder&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(lock_, other.lock_);
  return *this;
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
