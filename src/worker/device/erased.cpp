// erased.cpp - makes memory full of NaN, and leaves it so.
#include "worker/device/erased.hpp"

#include <utility>

#include "worker/verify/guarded_buffer.hpp"

namespace fatune {

Erased::Erased(gpu::Buffer buffer, CUstream stream) : buffer_(std::move(buffer)), stream_(stream) {}

Erased::~Erased() {
  if (buffer_.address() == 0) return;  // moved away
  if (gpu::fill_bytes(buffer_.address(), kNanByte, buffer_.bytes(), stream_))
    static_cast<void>(gpu::synchronize(stream_));
}

Result<gpu::Buffer> poisoned_buffer(const gpu::Context& context, std::size_t bytes,
                                    CUstream stream) {
  FATUNE_TRY(gpu::Buffer buffer, gpu::make_buffer(context, bytes));
  FATUNE_TRY_STATUS(gpu::fill_bytes(buffer.address(), kNanByte, bytes, stream));
  return buffer;
}

}  // namespace fatune
