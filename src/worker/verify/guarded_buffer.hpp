// guarded_buffer.hpp - device memory between bands of known bytes, to notice writes and reads
// outside it; memory that is erased before it is freed.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.hpp"
#include "gpu/objects.hpp"
#include "model/problem/tensor.hpp"

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
  /// An input: holds the bytes, between bands of NaN.
  static Result<GuardedBuffer> of(const gpu::Context& context, std::string name,
                                  std::span<const std::byte> bytes, CUstream stream);
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

/// Of all the lists, one after the other.
std::vector<const GuardedBuffer*> pointers_to(
    std::initializer_list<std::span<const GuardedBuffer>> lists);
/// Overwrites the inside of each; only queues.
Status fill_insides(std::span<const GuardedBuffer> buffers, std::uint8_t pattern, CUstream stream);

/// Overwritten before it is freed: the next candidate could read a reference from free memory.
class Erased {
 public:
  /// Filled with NaN, in every element type.
  static Result<Erased> make(const gpu::Context& context, std::size_t bytes, CUstream stream);
  Erased(Erased&&) noexcept = default;
  Erased& operator=(Erased&&) = delete;
  ~Erased();
  CUdeviceptr address() const { return buffer_.address(); }

 private:
  Erased(gpu::Buffer buffer, CUstream stream) : buffer_(std::move(buffer)), stream_(stream) {}

  gpu::Buffer buffer_;
  CUstream stream_;
};

/// A band that was written to.
struct BandFinding {
  std::string buffer;
  bool before = false;      ///< the band before the buffer, else the one behind
  std::uint64_t bytes = 0;  ///< changed
  std::uint64_t first = 0;  ///< offset of the first changed byte in the band
};
/// Reads "8 bytes behind out were written, the first at +12".
std::string describe(const BandFinding& finding);

/// A bit a column; of column c that of c % 256.
using ColumnSigns = std::array<std::uint64_t, 4>;
/// What becomes of a tensor's elements.
struct Alteration {
  ColumnSigns negative{};
  bool poisoned = false;
};

class DeviceChecks {
 public:
  static Result<DeviceChecks> load(const gpu::Context& context, std::string_view cubin,
                                   CUstream stream);
  /// Both wait for the stream, whose work must have come to an end before (a hung kernel would hang
  /// them).
  Result<std::vector<BandFinding>> check_bands(std::span<const GuardedBuffer* const> buffers);
  Result<std::vector<std::uint64_t>> checksums(std::span<const GuardedBuffer* const> buffers);

  // One by one, for launches between others: each adds to one of the findings, which are cleared
  // before and taken after. Both wait, as above.
  Status clear(std::size_t findings);
  Result<std::uint64_t> take(std::size_t finding);
  /// Queues a checksum.
  Status queue_sum(const GuardedBuffer& buffer, std::size_t finding);
  /// Queues a read of memory that holds zeros; the finding is in clock cycles, of all its CTAs.
  Status queue_read(const gpu::Buffer& memory, std::size_t finding);
  /// Queues the exchange of what two buffers of the same size hold.
  Status swap(const GuardedBuffer& a, const GuardedBuffer& b);
  /// Two buffers of the same size that exchange what they hold.
  struct Exchange {
    const GuardedBuffer &a, &b;
  };
  static constexpr std::size_t kMostExchanges = 6;
  /// Queues a kernel that lets the next one begin and, while that may already run, waits a little,
  /// exchanges the buffers, at most kMostExchanges pairs, and fills `out` with `pattern`. It leaves
  /// most of the device free.
  Status exchange_late(std::span<const Exchange> inputs, const GuardedBuffer& out,
                       std::uint8_t pattern);

  /// Queues a pass over a tensor whose first element is at `first`: elements keep their values, or
  /// become NaN; then the signs of negative columns turn. Of at most four dimensions.
  Status alter(const TensorPlan& tensor, CUdeviceptr first, const Alteration& change);
  /// Queues a kernel that lasts so long: launches that are queued meanwhile follow without gaps.
  Status hold(std::chrono::nanoseconds time);

 private:
  CUdeviceptr place(std::size_t finding) const;
  Status queue(CUfunction kernel, CUdeviceptr data, unsigned long long bytes, std::size_t finding);
  /// Two numbers for each launch, which gets its number and that of the finding to add to.
  Result<std::vector<std::uint64_t>> collect(
      std::size_t findings, const std::function<Status(std::size_t, std::size_t)>& launch);

  gpu::Module module_;
  CUfunction pattern_ = nullptr, sum_ = nullptr, swap_ = nullptr, late_ = nullptr, read_ = nullptr,
             alter_ = nullptr, hold_ = nullptr;
  gpu::Buffer findings_;
  CUstream stream_ = nullptr;
};

}  // namespace fatune
