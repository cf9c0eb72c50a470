// limits.hpp - what a device allows a launch to ask for, and whether one asks for more.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/fields_fwd.hpp"
#include "core/result.hpp"

namespace fatune {

struct Problem;
enum class Dtype;

/// A compilation target such as sm_90a.
struct Arch {
  int number = 0;   ///< 90
  char suffix = 0;  ///< 'a', 'f' or 0
  friend bool operator==(const Arch&, const Arch&) = default;
};
std::string name(const Arch& arch);  ///< "sm_90a"
Result<Arch> parse_arch(std::string_view text);
FieldWord<Arch> word_of(const Arch*);
/// The target fatune compiles for on a device of this compute capability: sm_90 gets sm_90a, sm_100
/// sm_100a, others plain.
Arch best_arch(int major, int minor);

struct DeviceLimits {
  Arch arch;
  std::int64_t max_shared_block = 0;  ///< bytes of shared memory a block may ask for (opt-in)
  std::int64_t max_shared_sm = 0;
  std::int64_t max_threads_block = 1024;
  std::int64_t max_threads_sm = 2048;
  std::int64_t max_registers_sm = 65536;
  std::int64_t max_blocks_sm = 32;
  std::int64_t sm_count = 0;
  std::int64_t memory_bytes = 0;  ///< 0: unknown (no device)

  friend bool operator==(const DeviceLimits&, const DeviceLimits&) = default;
};
/// Typical device of an architecture, for work without a GPU (sm_90a: 132 SMs, 232448 bytes).
Result<DeviceLimits> typical_limits(const Arch& arch);

/// Each says whether the request fits, and if not writes the reason to `why` unless that is null.
bool shared_fits(std::int64_t dynamic_bytes, std::int64_t static_bytes, const DeviceLimits& limits,
                 std::string* why);
/// `block`: threads in x, y, z.
bool block_fits(std::span<const std::int64_t> block, const DeviceLimits& limits, std::string* why);
/// `grid` and `cluster`: blocks in x, y, z.
bool grid_fits(std::span<const std::int64_t> grid, std::span<const std::int64_t> cluster,
               const DeviceLimits& limits, std::string* why);
/// Whether a tensor map can have a swizzle of so many bytes.
bool is_swizzle(std::int64_t bytes);
/// `box`: elements of a tensor map's four dimensions, fastest first.
bool box_fits(std::span<const std::int64_t> box, std::int64_t swizzle, Dtype dtype,
              std::string* why);
/// The tensors of the problem and all scratch together; fits always when the device's memory is
/// unknown.
bool memory_fits(std::span<const std::int64_t> scratch_bytes, const Problem& problem,
                 const DeviceLimits& limits, std::string* why);

inline constexpr int kFirstDependentArch = 90;
/// Whether the device has programmatic dependent launch.
bool has_dependent_launches(const Arch& arch);

}  // namespace fatune
