// shared_tensors.hpp: Holds a problem's tensors in memory that a child process can open.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.hpp"
#include "core/result.hpp"
#include "model/problem/problem.hpp"

namespace fatune {

/// The buffers of q, k, v, their factors, the optional tensors and out, one after the other in an
/// anonymous file, as they lie on the device. The file is gone when no process maps it any more.
class SharedTensors {
 public:
  static Result<SharedTensors> make(const Attention& problem);
  /// The buffer that begins with the tensor; empty if it begins with another.
  std::span<std::byte> operator[](std::string_view tensor) const;
  /// The tensors but out that begin a buffer.
  std::vector<std::string> inputs() const;
  /// {"path", "bytes", "places": {"q": 0, ...}}: where a child finds the file, and the tensors in
  /// it. The path is good as long as this object lives.
  Json place() const;

 private:
  struct Memory {
    int file = -1;
    std::byte* data = nullptr;
    std::size_t bytes = 0;
    ~Memory();
  };
  struct Part {
    std::size_t start = 0;
    std::size_t bytes = 0;  ///< of the buffer that begins here; 0: none does
  };
  std::unique_ptr<Memory> memory_;
  std::map<std::string, Part, std::less<>> parts_;
};

}  // namespace fatune
