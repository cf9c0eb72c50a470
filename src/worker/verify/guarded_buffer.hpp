// guarded_buffer.hpp - device memory between bands of known bytes, to notice writes and reads
// outside it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "core/result.hpp"
#include "gpu/objects.hpp"

namespace fatune {

/// Around inputs: NaN in every element type, so that a read outside poisons the output.
inline constexpr std::uint8_t kNanByte = 0xff;
/// Around outputs and scratch.
inline constexpr std::uint8_t kGuardByte = 0xa5;

class GuardedBuffer {
 public:
  /// Chosen: a few rows of tiles; keeps the alignment.
  static constexpr std::size_t kBandBytes = 256 * 1024;

  GuardedBuffer() = default;
  /// Allocates and fills the bands; the inside is not initialised.
  static Result<GuardedBuffer> make(const gpu::Context& context, std::string name,
                                    std::size_t bytes, std::uint8_t guard, CUstream stream);
  Status fill_bands(CUstream stream) const;

  const std::string& name() const { return name_; }
  std::size_t bytes() const { return bytes_; }
  std::uint8_t guard() const { return guard_; }
  CUdeviceptr address() const { return memory_.address() + kBandBytes; }  ///< of the inside
  CUdeviceptr band_before() const { return memory_.address(); }
  CUdeviceptr band_after() const { return address() + bytes_; }

 private:
  std::string name_;
  gpu::Buffer memory_;
  std::size_t bytes_ = 0;
  std::uint8_t guard_ = kGuardByte;
};

/// Overwrites the inside of each; only queues.
Status fill_insides(std::span<const GuardedBuffer> buffers, std::uint8_t pattern, CUstream stream);

}  // namespace fatune
