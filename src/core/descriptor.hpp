// descriptor.hpp - a file descriptor that closes itself.
#pragma once

#include <cerrno>
#include <utility>

#include <unistd.h>

namespace fatune {

class Descriptor {
 public:
  explicit Descriptor(int raw) : raw_(raw) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(); }

  int raw() const { return raw_; }
  bool open() const { return raw_ >= 0; }
  /// 0, or the system's reason when it finds only now that it could not write.
  int close() {
    const int raw = std::exchange(raw_, -1);
    return raw >= 0 && ::close(raw) != 0 ? errno : 0;
  }

 private:
  int raw_;
};

}  // namespace fatune
