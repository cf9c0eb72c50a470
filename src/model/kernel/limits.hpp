// limits.hpp: Defines a device's launch limits, and checks whether a launch exceeds them.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/fields_fwd.hpp"
#include "core/result.hpp"

namespace fatune {

class Problem;
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
/// Returns the compile target for a compute capability: sm_90 gets sm_90a, sm_100 sm_100a, others
/// the plain name.
Arch best_arch(int major, int minor);

struct DeviceLimits {
  Arch arch;
  std::int64_t max_shared_block = 0;  ///< shared memory per block in bytes (opt-in)
  std::int64_t max_shared_sm = 0;
  std::int64_t max_threads_block = 1024;
  std::int64_t max_threads_sm = 2048;
  std::int64_t max_registers_sm = 65536;
  std::int64_t max_blocks_sm = 32;
  std::int64_t sm_count = 0;
  std::int64_t memory_bytes = 0;  ///< 0: unknown (no device)

  friend bool operator==(const DeviceLimits&, const DeviceLimits&) = default;
};
/// Returns a typical device of an architecture, for work without a GPU (sm_90a: 132 SMs, 232448
/// bytes).
Result<DeviceLimits> typical_limits(const Arch& arch);

/// Each function tells whether the request fits; if not, it writes the reason to `why` unless `why`
/// is null.
bool shared_fits(std::int64_t dynamic_bytes, std::int64_t static_bytes, const DeviceLimits& limits,
                 std::string* why);
/// `block`: threads in x, y, z.
bool block_fits(std::span<const std::int64_t> block, const DeviceLimits& limits, std::string* why);
/// Most blocks of a grid in x, y and z, on every device.
inline constexpr std::array<std::int64_t, 3> kMaxGrid = {2147483647, 65535, 65535};
/// `grid` and `cluster`: blocks in x, y, z.
bool grid_fits(std::span<const std::int64_t> grid, std::span<const std::int64_t> cluster,
               const DeviceLimits& limits, std::string* why);
/// "the device allows grids of 2147483647 blocks in x, 65535 in y ..."
std::string describe_grid_limits(const DeviceLimits& limits);
/// Tells whether a tensor map supports a swizzle of this many bytes.
bool is_swizzle(std::int64_t bytes);
/// `box`: elements of a tensor map's four dimensions, fastest first.
bool box_fits(std::span<const std::int64_t> box, std::int64_t swizzle, Dtype dtype,
              std::string* why);
/// Checks the problem's tensors and all scratch together; always fits if the device's memory is
/// unknown.
bool memory_fits(std::span<const std::int64_t> scratch_bytes, const Problem& problem,
                 const DeviceLimits& limits, std::string* why);

inline constexpr int kFirstDependentArch = 90;
/// Tells whether the device has programmatic dependent launch.
bool has_dependent_launches(const Arch& arch);

}  // namespace fatune
