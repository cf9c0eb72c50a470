// limits.hpp - what a device allows a launch to ask for: its own limits, or an architecture's.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/fields_fwd.hpp"
#include "core/result.hpp"

namespace fatune {

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
void fields(DeviceLimits& x, FieldList& f);
/// Typical device of an architecture, for work without a GPU (sm_90a: 132 SMs, 232448 bytes).
Result<DeviceLimits> typical_limits(const Arch& arch);

}  // namespace fatune
