// handle.hpp - the one RAII template: owns a CUDA object that a traits struct knows how to destroy.
#pragma once

#include <utility>

namespace fatune::gpu {

/// Traits has `using Raw` (comparable; a value-initialised Raw means "none") and `static void
/// destroy(Raw) noexcept`. Destroying after the driver shut down or the context broke is silent.
template <typename Traits>
class Handle {
 public:
  using Raw = typename Traits::Raw;

  Handle() = default;
  explicit Handle(Raw raw) noexcept : raw_(raw) {}
  Handle(Handle&& other) noexcept : raw_(std::exchange(other.raw_, Raw{})) {}
  Handle& operator=(Handle&& other) noexcept {
    if (this != &other) {
      reset();
      raw_ = std::exchange(other.raw_, Raw{});
    }
    return *this;
  }
  ~Handle() { reset(); }

  Raw raw() const noexcept { return raw_; }
  explicit operator bool() const noexcept { return !(raw_ == Raw{}); }
  void reset() noexcept {
    if (*this) Traits::destroy(raw_);
    raw_ = Raw{};
  }

 private:
  Raw raw_{};
};

}  // namespace fatune::gpu
