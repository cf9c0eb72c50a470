// erased.hpp - device memory for what candidates must never find: overwritten before it is freed.
#pragma once

#include <cstddef>

#include "core/result.hpp"
#include "gpu/objects.hpp"

namespace fatune {

/// Overwritten on its way out: a reference left in free memory could be found by the next
/// candidate.
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
