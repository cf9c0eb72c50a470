// with_settings.hpp - resolves the common options, runs a command's body, and turns errors into
// codes.
#pragma once

#include <functional>

#include "cli/options/args.hpp"
#include "cli/options/settings.hpp"
#include "core/result.hpp"

namespace fatune::cli {

/// The exit code of `body`, or of the error that it or the options gave, which is logged.
int with_settings(const CommonArgs& args, const std::function<Result<int>(const Settings&)>& body);

}  // namespace fatune::cli
