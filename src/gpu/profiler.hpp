// profiler.hpp - marks the part of this process that a profiler records.
#pragma once

#include "core/result.hpp"

namespace fatune::gpu {

/// Without a profiler both do nothing. load_driver() must have succeeded, with a current context.
Status start_profiler_range();
Status stop_profiler_range();

}  // namespace fatune::gpu
