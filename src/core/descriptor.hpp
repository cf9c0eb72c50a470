// descriptor.hpp - file descriptors: opened, written, locked by system calls whose failures are
// told in full.
#pragma once

#include <cerrno>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "core/result.hpp"

namespace fatune {

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

/// "PATH: cannot DOING: " and the system's words.
Error system_failure(const std::filesystem::path& path, const std::string& doing, int reason);

/// A system call, again as long as a signal interrupts it.
template <typename Call>
auto uninterrupted(Call call) {
  for (;;) {
    const auto result = call();
    if (result >= 0 || errno != EINTR) return result;
  }
}

/// Not inherited by children; a new file is readable by whom the umask allows.
Descriptor open_file(const std::filesystem::path& path, int flags);
/// 0 or the system's reason.
int write_all(const Descriptor& file, std::string_view bytes);

/// A descriptor with a lock that ends with the process, however that ends; not open where another
/// process holds it.
Descriptor locked(Descriptor file);
/// Whether somebody has removed what is open.
bool is_gone(const Descriptor& file);

/// Removes this user's entries of the folder that have such a name, and no holder of their lock.
void remove_abandoned(const std::filesystem::path& folder,
                      const std::function<bool(const std::string& name)>& named);

}  // namespace fatune
