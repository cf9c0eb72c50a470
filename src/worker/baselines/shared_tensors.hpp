// shared_tensors.hpp - host memory for a problem's tensors that a child process can open, too.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>

#include "core/json.hpp"
#include "core/result.hpp"
#include "model/problem/problem.hpp"

namespace fatune {

/// q, k, v and out one after the other in an anonymous file; gone with the last that has it mapped.
class SharedTensors {
 public:
  enum Tensor { kQ, kK, kV, kOut };

  static Result<SharedTensors> make(const Problem& problem);
  SharedTensors() = default;
  SharedTensors(SharedTensors&& other) noexcept;
  SharedTensors& operator=(SharedTensors&& other) noexcept;
  ~SharedTensors();

  std::span<std::byte> operator[](Tensor which) const;
  /// {"path", "bytes", "q", "k", "v", "out"}: where a child finds it, and the tensors in it. The
  /// path is good as long as this lives.
  Json place() const;

 private:
  void release();

  int file_ = -1;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
  std::array<std::size_t, 4> starts_{}, sizes_{};
};

}  // namespace fatune
