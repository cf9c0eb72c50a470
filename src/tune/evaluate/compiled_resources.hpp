// compiled_resources.hpp - what the compiler's log says of a launch, beside what the driver says.
#pragma once

#include <optional>

#include "model/kernel/candidate.hpp"
#include "model/results/measurement.hpp"
#include "worker/protocol/compiled.hpp"

namespace fatune {

/// Adds spills and warnings of every stage. Without the driver's figures the log's stand alone.
std::optional<Resources> with_compiler_log(std::optional<Resources> resources,
                                           const Compiled& compiled, const LaunchPlan& plan);

}  // namespace fatune
