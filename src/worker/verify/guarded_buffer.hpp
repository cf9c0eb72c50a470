// guarded_buffer.hpp: Surrounds device memory with bands of known bytes, and checks them.
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

/// The byte around inputs: NaN in every element type, so that a read outside poisons the output.
inline constexpr std::uint8_t kNanByte = 0xff;
/// The byte around outputs and scratch memory.
inline constexpr std::uint8_t kGuardByte = 0xa5;

class GuardedBuffer {
 public:
  /// Chosen: a few rows of tiles. It keeps the alignment.
  static constexpr std::size_t kBandBytes = 256 * 1024;

  GuardedBuffer() = default;
  /// Allocates memory and fills the bands. The inside is not initialised.
  static Result<GuardedBuffer> make(const gpu::Context& context, std::string name,
                                    std::size_t bytes, std::uint8_t guard, CUstream stream);
  /// Makes an input that holds the bytes between bands of NaN.
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

/// Pointers to the buffers of all lists.
std::vector<const GuardedBuffer*> pointers_to(
    std::initializer_list<std::span<const GuardedBuffer>> lists);
/// Queues an overwrite of each buffer's inside.
Status fill_insides(std::span<const GuardedBuffer> buffers, std::uint8_t pattern, CUstream stream);

/// Memory that is overwritten before it is freed. The next candidate could read a reference from
/// free memory.
class Erased {
 public:
  /// Allocates memory full of NaN in every element type.
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

/// A band that a kernel wrote to.
struct BandFinding {
  std::string buffer;
  bool before = false;      ///< the band before the buffer, else the one behind
  std::uint64_t bytes = 0;  ///< changed
  std::uint64_t first = 0;  ///< offset of the first changed byte in the band
};
/// Reads "8 bytes behind out were written, the first at +12".
std::string describe(const BandFinding& finding);

/// One bit for each column. Column c has bit c % 256.
using ColumnSigns = std::array<std::uint64_t, 4>;
/// A change of a tensor's elements.
struct Alteration {
  ColumnSigns negative{};
  bool poisoned = false;
};

class DeviceChecks {
 public:
  static Result<DeviceChecks> load(const gpu::Context& context, std::string_view cubin,
                                   CUstream stream);
  /// Both wait for the stream. Its work must have ended before, because a hung kernel would hang
  /// them.
  Result<std::vector<BandFinding>> check_bands(std::span<const GuardedBuffer* const> buffers);
  Result<std::vector<std::uint64_t>> checksums(std::span<const GuardedBuffer* const> buffers);

  // The calls below run between launches. Each call adds to one of the findings, which clear()
  // resets and take() reads. Both wait, as above.
  Status clear(std::size_t findings);
  Result<std::uint64_t> take(std::size_t finding);
  /// Queues a checksum.
  Status queue_sum(const GuardedBuffer& buffer, std::size_t finding);
  /// Queues a read of memory that holds zeros. The finding is the clock cycles of all its CTAs.
  Status queue_read(const gpu::Buffer& memory, std::size_t finding);
  /// Queues the exchange of the contents of two buffers of the same size.
  Status swap(const GuardedBuffer& a, const GuardedBuffer& b);
  /// Two buffers of the same size that exchange their contents.
  struct Exchange {
    const GuardedBuffer &a, &b;
  };
  static constexpr std::size_t kMostExchanges = 6;
  /// Queues a kernel that lets the next kernel begin. While the next kernel may already run, this
  /// kernel waits a little, exchanges the buffers (at most kMostExchanges pairs), and fills `out`
  /// with `pattern`. The kernel leaves most of the device free.
  Status exchange_late(std::span<const Exchange> inputs, const GuardedBuffer& out,
                       std::uint8_t pattern);

  /// Queues a pass over a tensor of at most four dimensions, whose first element is at `first`. Its
  /// elements keep their values or become NaN. Then the signs of negative columns turn.
  Status alter(const TensorPlan& tensor, CUdeviceptr first, const Alteration& change);
  /// Queues a kernel that lasts this long. Launches that are queued meanwhile follow without gaps.
  Status hold(std::chrono::nanoseconds time);

 private:
  CUdeviceptr place(std::size_t finding) const;
  Status queue(CUfunction kernel, CUdeviceptr data, unsigned long long bytes, std::size_t finding);
  /// Runs the launches and collects two numbers of each. A launch gets its own number and its
  /// finding's.
  Result<std::vector<std::uint64_t>> collect(
      std::size_t findings, const std::function<Status(std::size_t, std::size_t)>& launch);

  gpu::Module module_;
  CUfunction pattern_ = nullptr, sum_ = nullptr, swap_ = nullptr, late_ = nullptr, read_ = nullptr,
             alter_ = nullptr, hold_ = nullptr;
  gpu::Buffer findings_;
  CUstream stream_ = nullptr;
};

}  // namespace fatune
