// limits.cpp: Parses architecture names, lists typical devices, and checks requests against limits.
#include "model/kernel/limits.hpp"

#include <array>
#include <vector>

#include <fmt/format.h>

#include "core/fields.hpp"
#include "core/text.hpp"
#include "model/problem/problem.hpp"

namespace fatune {
namespace {

/// Shared memory in KiB, per block and per SM.
constexpr DeviceLimits typical(int number, std::int64_t block_kib, std::int64_t sm_kib,
                               std::int64_t threads, std::int64_t blocks, std::int64_t sms) {
  return {.arch = {number, 0},
          .max_shared_block = 1024 * block_kib,
          .max_shared_sm = 1024 * sm_kib,
          .max_threads_sm = threads,
          .max_blocks_sm = blocks,
          .sm_count = sms};
}

// Limits per SM: CUDA Programming Guide, "Technical Specifications per Compute Capability". The SM
// count is the named device's.
constexpr DeviceLimits kTypical[] = {
    typical(75, 64, 64, 1024, 16, 68),      // RTX 2080 Ti
    typical(80, 163, 164, 2048, 32, 108),   // A100
    typical(86, 99, 100, 1536, 16, 82),     // RTX 3090
    typical(87, 163, 164, 1536, 16, 16),    // Jetson AGX Orin 64 GB
    typical(89, 99, 100, 1536, 24, 128),    // RTX 4090
    typical(90, 227, 228, 2048, 32, 132),   // H100 SXM, H200
    typical(100, 227, 228, 2048, 32, 148),  // B200
    typical(103, 227, 228, 2048, 32, 148),  // B300
    typical(120, 99, 100, 1536, 24, 170),   // RTX 5090
    typical(121, 99, 100, 1536, 24, 48),    // GB10
};

// Source: CUDA Programming Guide, "Technical Specifications per Compute Capability" and "Tensor
// Map".
constexpr std::int64_t kMaxStaticShared = 48 * 1024;
constexpr std::int64_t kMaxBlockZ = 64;
constexpr std::int64_t kMaxCluster = 8;  // supported by every device with clusters
constexpr int kFirstArchWithClusters = 90;
constexpr std::int64_t kMaxBox = 256;
constexpr std::int64_t kBoxRowMultiple = 16;  // bytes
constexpr std::array<char, 3> kAxisNames = {'x', 'y', 'z'};

std::int64_t most_in_cluster(const DeviceLimits& limits) {
  return limits.arch.number >= kFirstArchWithClusters ? kMaxCluster : 1;
}

/// Writes the reason, if wanted, and returns false.
template <typename... Parts>
bool refuse(std::string* why, fmt::format_string<Parts...> format, Parts&&... parts) {
  if (why != nullptr) *why = fmt::format(format, std::forward<Parts>(parts)...);
  return false;
}

}  // namespace

std::string name(const Arch& arch) {
  std::string text = fmt::format("sm_{}", arch.number);
  if (arch.suffix != 0) text += arch.suffix;
  return text;
}

Result<Arch> parse_arch(std::string_view text) {
  std::string_view rest = text;
  if (rest.starts_with("sm_")) rest.remove_prefix(3);
  Arch arch;
  if (!rest.empty() && (rest.back() == 'a' || rest.back() == 'f')) {
    arch.suffix = rest.back();
    rest.remove_suffix(1);
  }
  if (!matches(rest, "[1-9][0-9][0-9]?")) {
    return usage_error(
        fmt::format("'{}' is not an architecture such as sm_80, sm_90a or sm_120", text));
  }
  arch.number = static_cast<int>(*parse_integer(rest));
  return arch;
}

FieldWord<Arch> word_of(const Arch*) { return {.parse = parse_arch, .pattern = "sm_[0-9]+[af]?"}; }

Arch best_arch(int major, int minor) {
  const int number = 10 * major + minor;
  return {number, number == 90 || number == 100 ? 'a' : '\0'};
}

Result<DeviceLimits> typical_limits(const Arch& arch) {
  std::vector<std::string> known;
  for (DeviceLimits limits : kTypical) {
    known.push_back(name(limits.arch));
    if (limits.arch.number != arch.number) continue;
    limits.arch = arch;
    return limits;
  }
  return usage_error(fmt::format("no device limits are known for {}; known are {}", name(arch),
                                 join(known, ", ")));
}

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
  double threads = 1;  // the integer product could overflow
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

std::string describe_grid_limits(const DeviceLimits& limits) {
  return fmt::format(
      "the device allows grids of {} blocks in x, {} in y and {} in z, and clusters of {}",
      kMaxGrid[0], kMaxGrid[1], kMaxGrid[2], most_in_cluster(limits));
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
  const std::int64_t allowed = most_in_cluster(limits);
  if (blocks <= static_cast<double>(allowed)) return true;
  return refuse(why, "needs clusters of {:.0f} blocks, the device allows {}", blocks, allowed);
}

bool is_swizzle(std::int64_t bytes) {
  return bytes == 0 || bytes == 32 || bytes == 64 || bytes == 128;
}

bool box_fits(std::span<const std::int64_t> box, std::int64_t swizzle, Dtype dtype,
              std::string* why) {
  if (!is_swizzle(swizzle))
    return refuse(why, "has a tensor-map swizzle of {} bytes, not 0, 32, 64 or 128", swizzle);
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
