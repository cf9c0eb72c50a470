// persisting.hpp - forbids and resets persisting lines of the L2 cache, which would survive a
// flush.
#pragma once

#include <cstddef>
#include <optional>

#include "core/result.hpp"
#include "gpu/driver.hpp"

namespace fatune::gpu {

/// What the current context may set aside for persisting lines; empty when device or driver has no
/// such limit. A limit of this process, not a setting of the GPU.
Result<std::optional<std::size_t>> persisting_limit();
/// Nothing may be set aside, and no window of addresses on the stream persists. Does nothing where
/// there is no such limit.
Status forbid_persisting_lines(CUstream stream);
/// Lines that are marked as persisting become ordinary ones.
Status reset_persisting_lines();

/// Sets cache aside and lets launches on the stream keep the window's lines, as a cheating host
/// would. For fixtures that the gates must catch.
Status keep_window(CUstream stream, CUdeviceptr address, std::size_t bytes);

}  // namespace fatune::gpu
