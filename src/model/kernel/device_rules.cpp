// device_rules.cpp - compares a launch's sizes with a device's limits, and words the excess.
#include "model/kernel/device_rules.hpp"

#include <array>

#include <fmt/format.h>

#include "core/text.hpp"
#include "model/problem/work.hpp"

namespace fatune {
namespace {

// CUDA Programming Guide, "Technical Specifications per Compute Capability" and "Tensor Map".
constexpr std::int64_t kMaxStaticShared = 48 * 1024;
constexpr std::array<std::int64_t, 3> kMaxGrid = {2147483647, 65535, 65535};
constexpr std::int64_t kMaxBlockZ = 64;
constexpr int kFirstDependentArch = 90;
constexpr std::int64_t kMaxCluster = 8;  // what every device with clusters can do
constexpr int kFirstArchWithClusters = 90;
constexpr std::int64_t kMaxBox = 256;
constexpr std::int64_t kBoxRowMultiple = 16;  // bytes
constexpr std::array<char, 3> kAxisNames = {'x', 'y', 'z'};

/// Writes the reason, if wanted, and says no.
template <typename... Parts>
bool refuse(std::string* why, fmt::format_string<Parts...> format, Parts&&... parts) {
  if (why != nullptr) *why = fmt::format(format, std::forward<Parts>(parts)...);
  return false;
}

}  // namespace

bool shared_fits(std::int64_t dynamic_bytes, std::int64_t static_bytes, const DeviceLimits& limits,
                 std::string* why) {
  if (static_bytes > kMaxStaticShared) {
    return refuse(why, "declares {} bytes of static shared memory, the compiler allows {}",
                  static_bytes, kMaxStaticShared);
  }
  const std::int64_t total = dynamic_bytes + static_bytes;
  if (total <= limits.max_shared_block) return true;
  return refuse(why, "needs {} bytes of shared memory a block, the device allows {}", total,
                limits.max_shared_block);
}

bool block_fits(std::span<const std::int64_t> block, const DeviceLimits& limits, std::string* why) {
  double threads = 1;  // a product of integers that might overflow
  for (std::size_t i = 0; i < block.size(); ++i) {
    if (block[i] < 1) return refuse(why, "has a block of 0 threads in {}", kAxisNames.at(i));
    threads *= static_cast<double>(block[i]);
  }
  if (block[2] > kMaxBlockZ) {
    return refuse(why, "needs {} threads a block in z, the device allows {}", block[2], kMaxBlockZ);
  }
  if (threads <= static_cast<double>(limits.max_threads_block)) return true;
  return refuse(why, "needs {:.0f} threads a block, the device allows {}", threads,
                limits.max_threads_block);
}

bool grid_fits(std::span<const std::int64_t> grid, std::span<const std::int64_t> cluster,
               const DeviceLimits& limits, std::string* why) {
  double blocks = 1;
  for (std::size_t i = 0; i < grid.size(); ++i) {
    const char axis = kAxisNames.at(i);
    if (grid[i] < 1) return refuse(why, "has a grid of 0 blocks in {}", axis);
    if (grid[i] > kMaxGrid.at(i)) {
      return refuse(why, "needs a grid of {} blocks in {}, the device allows {}", grid[i], axis,
                    kMaxGrid.at(i));
    }
    if (cluster[i] < 1) return refuse(why, "has a cluster of 0 blocks in {}", axis);
    if (grid[i] % cluster[i] != 0) {
      return refuse(why, "has {} blocks in {}, which clusters of {} do not divide", grid[i], axis,
                    cluster[i]);
    }
    blocks *= static_cast<double>(cluster[i]);
  }
  const std::int64_t allowed = limits.arch.number >= kFirstArchWithClusters ? kMaxCluster : 1;
  if (blocks <= static_cast<double>(allowed)) return true;
  return refuse(why, "needs clusters of {:.0f} blocks, the device allows {}", blocks, allowed);
}

bool box_fits(std::span<const std::int64_t> box, int swizzle, Dtype dtype, std::string* why) {
  for (std::size_t i = 0; i < box.size(); ++i) {
    if (box[i] >= 1 && box[i] <= kMaxBox) continue;
    return refuse(why, "has a tensor-map box of {} elements in dimension {}, 1 to {} are possible",
                  box[i], i, kMaxBox);
  }
  const std::int64_t row_bytes = box[0] * size_of(dtype);
  if (row_bytes % kBoxRowMultiple != 0) {
    return refuse(why, "has tensor-map rows of {} bytes, which {} does not divide", row_bytes,
                  kBoxRowMultiple);
  }
  if (swizzle == 0 || row_bytes <= swizzle) return true;
  return refuse(why, "has tensor-map rows of {} bytes, a swizzle of {} bytes allows no longer one",
                row_bytes, swizzle);
}

bool memory_fits(std::span<const std::int64_t> scratch_bytes, const Problem& problem,
                 const DeviceLimits& limits, std::string* why) {
  if (limits.memory_bytes <= 0) return true;
  double bytes = static_cast<double>(least_bytes(problem).value);
  for (const std::int64_t scratch : scratch_bytes) bytes += static_cast<double>(scratch);
  if (bytes <= static_cast<double>(limits.memory_bytes)) return true;
  return refuse(why, "needs {} of device memory for tensors and scratch, the device has {}",
                describe(Bytes(static_cast<std::uint64_t>(bytes))),
                describe(Bytes(static_cast<std::uint64_t>(limits.memory_bytes))));
}

bool has_dependent_launches(const Arch& arch) { return arch.number >= kFirstDependentArch; }

}  // namespace fatune
