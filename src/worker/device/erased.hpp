// erased.hpp - device memory that is overwritten before it is freed, so that candidates cannot read
// it.
#pragma once

#include <cstddef>

#include "core/result.hpp"
#include "gpu/objects.hpp"

namespace fatune {

/// Overwritten before it is freed: the next candidate could read a reference from free memory.
class Erased {
 public:
  Erased(gpu::Buffer buffer, CUstream stream);
  Erased(Erased&&) noexcept = default;
  Erased& operator=(Erased&&) = delete;
  ~Erased();
  const gpu::Buffer& operator*() const { return buffer_; }

 private:
  gpu::Buffer buffer_;
  CUstream stream_;
};

/// Filled with NaN, in every element type.
Result<gpu::Buffer> poisoned_buffer(const gpu::Context& context, std::size_t bytes,
                                    CUstream stream);

}  // namespace fatune
