// descriptor.hpp: Declares owned file descriptors and system calls with complete error messages.
#pragma once

#include <cerrno>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include <fcntl.h>

#include "core/result.hpp"

namespace fatune {

/// A file descriptor that closes itself.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int raw) : raw_(raw) {}
  Descriptor(Descriptor&& other) noexcept : raw_(std::exchange(other.raw_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor() { close(); }

  int raw() const { return raw_; }
  bool open() const { return raw_ >= 0; }
  /// Returns 0, or the errno of a write that failed late.
  int close();

 private:
  int raw_ = -1;
};

/// Makes an error "PATH: cannot DOING: " and the system's reason.
Error system_failure(const std::filesystem::path& path, const std::string& doing, int reason);

/// Repeats a system call while a signal interrupts it.
template <typename Call>
auto uninterrupted(Call call) {
  for (;;) {
    const auto result = call();
    if (result >= 0 || errno != EINTR) return result;
  }
}

/// Opens a file close-on-exec; a new file has the permissions that the umask allows. A relative
/// path is below `folder`, or below the present folder.
Descriptor open_file(const std::filesystem::path& path, int flags, mode_t mode = 0666,
                     int folder = AT_FDCWD);
/// Returns 0 or errno.
int write_all(const Descriptor& file, std::string_view bytes);

/// Takes a lock that ends with the process. The result is closed if another process holds the lock.
Descriptor locked(Descriptor file);
/// True if the open file has been removed from its folder.
bool is_gone(const Descriptor& file);

/// Removes this user's entries of the folder with such a name that no process has locked.
void remove_abandoned(const std::filesystem::path& folder,
                      const std::function<bool(const std::string& name)>& named);

}  // namespace fatune
