// device_checks.hpp - device memory to findings: guard bands and checksums.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "gpu/objects.hpp"
#include "worker/verify/guarded_buffer.hpp"

namespace fatune {

/// A band that was written to.
struct BandFinding {
  std::string buffer;
  bool before = false;      ///< the band before the buffer, else the one behind
  std::uint64_t bytes = 0;  ///< changed
  std::uint64_t first = 0;  ///< offset of the first changed byte in the band
};
/// Reads "8 bytes behind out were written, the first at +12".
std::string describe(const BandFinding& finding);

class DeviceChecks {
 public:
  static Result<DeviceChecks> load(const gpu::Context& context, std::string_view cubin,
                                   CUstream stream);
  /// Both wait for the stream, whose work must have come to an end before (a hung kernel would hang
  /// them).
  Result<std::vector<BandFinding>> check_bands(std::span<const GuardedBuffer* const> buffers);
  Result<std::vector<std::uint64_t>> checksums(std::span<const GuardedBuffer* const> buffers);
  /// Queues the exchange of what two buffers of the same size hold.
  Status swap(const GuardedBuffer& a, const GuardedBuffer& b);
  /// Two buffers of the same size that exchange what they hold.
  struct Exchange {
    const GuardedBuffer &a, &b;
  };
  static constexpr std::size_t kMostExchanges = 3;
  /// Queues a kernel that lets the next one begin and, while that may already run, waits a little,
  /// exchanges the buffers, at most kMostExchanges pairs, and fills `out` with `pattern`. It leaves
  /// most of the device free.
  Status exchange_late(std::span<const Exchange> inputs, const GuardedBuffer& out,
                       std::uint8_t pattern);

 private:
  Status clear(std::size_t findings);
  Result<std::vector<std::uint64_t>> read(std::size_t findings);

  gpu::Module module_;
  CUfunction pattern_ = nullptr, sum_ = nullptr, swap_ = nullptr, late_ = nullptr;
  gpu::Buffer findings_;
  CUstream stream_ = nullptr;
};

}  // namespace fatune
