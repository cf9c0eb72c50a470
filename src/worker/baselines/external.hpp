// external.hpp - any program that prints microseconds, as a contestant that times itself.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/json.hpp"
#include "core/result.hpp"
#include "model/problem/problem.hpp"
#include "worker/baselines/executable.hpp"
#include "worker/protocol/external_description.hpp"

namespace fatune {

/// An environment error when the program is not there, with what the description says about
/// installing it; a device error when it cannot do the problem. The program runs on the device.
Result<std::unique_ptr<Executable>> open_external(const Json& settings,
                                                  const std::string& device_uuid);

}  // namespace fatune
