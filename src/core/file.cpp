// file.cpp: Reads files within limits of size and time.
#include "core/file.hpp"

#include <array>
#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>

#include "core/descriptor.hpp"
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

Result<std::string> read_bytes(const fs::path& path, std::size_t limit) {
  // Without O_NONBLOCK, open() waits for the FIFO's writer.
  const Descriptor file = open_file(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  if (!file.open()) return system_failure(path, "open", errno);
  struct stat what {};
  if (::fstat(file.raw(), &what) != 0) return system_failure(path, "read", errno);
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

Status make_directories(const fs::path& path) {
  std::error_code failure;
  fs::create_directories(path, failure);
  if (failure) return system_failure(path, "create this folder", failure.value());
  return {};
}

fs::path executable_path() {
  std::error_code failure;
  return fs::read_symlink("/proc/self/exe", failure);
}

}  // namespace fatune
