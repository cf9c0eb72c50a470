// inspect_text.hpp - a kernel's space, and a config's launch and resources, as tables.
#pragma once

#include <string>
#include <vector>

#include "model/space/space.hpp"
#include "out/text/paint.hpp"
#include "tune/compile/inert.hpp"
#include "tune/evaluate/forecast.hpp"
#include "worker/protocol/compilation.hpp"

namespace fatune {

/// Parameters with a choice, terms, and what each rule leaves out.
std::string space_text(const Space& space, const Paint& paint);
std::string effects_text(const std::vector<ParameterEffect>& effects, const Paint& paint);
/// Registers, shared memory, spills and warnings of each entry.
std::string resources_text(const Compiled& compiled, const Paint& paint);
std::string launch_text(const LaunchPlan& plan, const Paint& paint);
/// What the launch will find on the device, with the compiled registers.
std::string forecast_text(const Forecast& forecast, const Paint& paint);

}  // namespace fatune
