// descriptor.cpp: Makes system calls on files and retries interrupted ones.
#include "core/descriptor.hpp"

#include <system_error>

#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace fatune {

namespace fs = std::filesystem;

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  close();
  raw_ = std::exchange(other.raw_, -1);
  return *this;
}

int Descriptor::close() {
  const int raw = std::exchange(raw_, -1);
  return raw >= 0 && ::close(raw) != 0 ? errno : 0;
}

Error system_failure(const fs::path& path, const std::string& doing, int reason) {
  return file_error(path.string() + ": cannot " + doing + ": " +
                    std::generic_category().message(reason) +
                    (reason == ELOOP ? "; remove the link" : ""));
}

Descriptor open_file(const fs::path& path, int flags, mode_t mode, int folder) {
  return Descriptor(
      uninterrupted([&] { return ::openat(folder, path.c_str(), flags | O_CLOEXEC, mode); }));
}

int write_all(const Descriptor& file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written =
        uninterrupted([&] { return ::write(file.raw(), bytes.data(), bytes.size()); });
    if (written < 0) return errno;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

Descriptor locked(Descriptor file) {
  const bool held = file.open() && ::flock(file.raw(), LOCK_EX | LOCK_NB) == 0;
  return held ? std::move(file) : Descriptor();
}

bool is_gone(const Descriptor& file) {
  struct stat found {};
  return ::fstat(file.raw(), &found) == 0 && found.st_nlink == 0;
}

void remove_abandoned(const fs::path& folder,
                      const std::function<bool(const std::string& name)>& named) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    if (!named(entry.path().filename().string())) continue;
    const Descriptor file = locked(open_file(entry.path(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
    struct stat found {};
    if (!file.open() || ::fstat(file.raw(), &found) != 0 || found.st_uid != ::geteuid()) continue;
    fs::remove_all(entry.path(), ignored);
  }
}

}  // namespace fatune
