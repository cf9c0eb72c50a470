// count_use.hpp - how a sweep under the objective "score" counts what its finalists do.
#pragma once

#include "cli/options/device_choice.hpp"
#include "cli/options/settings.hpp"
#include "model/kernel/limits.hpp"
#include "tune/sweep/standing.hpp"

namespace fatune::cli {

/// By ncu and a disassembler, where there are any. Once ncu gave no counters it is not asked again:
/// scores are compared by the terms that all have.
CountUse make_count_use(const DeviceChoice& device, const DeviceLimits& limits,
                        const Settings& settings);

}  // namespace fatune::cli
