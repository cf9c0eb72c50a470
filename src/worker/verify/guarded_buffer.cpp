// guarded_buffer.cpp - allocates a buffer with its bands and fills them.
#include "worker/verify/guarded_buffer.hpp"

#include <utility>

namespace fatune {

Result<GuardedBuffer> GuardedBuffer::make(const gpu::Context& context, std::string name,
                                          std::size_t bytes, std::uint8_t guard, CUstream stream) {
  GuardedBuffer buffer;
  auto memory = gpu::make_buffer(context, bytes + 2 * kBandBytes);
  if (!memory) return with_context(std::move(memory).error(), "making room for " + name);
  buffer.memory_ = *std::move(memory);
  buffer.name_ = std::move(name);
  buffer.bytes_ = bytes;
  buffer.guard_ = guard;
  FATUNE_TRY_STATUS(buffer.fill_bands(stream));
  return buffer;
}

Status GuardedBuffer::fill_bands(CUstream stream) const {
  FATUNE_TRY_STATUS(gpu::fill_bytes(band_before(), guard_, kBandBytes, stream));
  return gpu::fill_bytes(band_after(), guard_, kBandBytes, stream);
}

Status fill_insides(std::span<const GuardedBuffer> buffers, std::uint8_t pattern, CUstream stream) {
  for (const GuardedBuffer& buffer : buffers) {
    FATUNE_TRY_STATUS(gpu::fill_bytes(buffer.address(), pattern, buffer.bytes(), stream));
  }
  return {};
}

}  // namespace fatune
