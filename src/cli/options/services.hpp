// services.hpp - the user's settings to what a command starts from: its body, a compile pool,
// implementations from elsewhere, and the date.
#pragma once

#include <functional>
#include <string>

#include "cli/options/settings.hpp"
#include "core/result.hpp"
#include "tune/compile/pool.hpp"
#include "tune/evaluate/implementations.hpp"

namespace fatune::cli {

/// Resolves the common options. The exit code of `body`, or of the error that it or the options
/// gave, which is logged.
int with_settings(const CommonArgs& args, const std::function<Result<int>(const Settings&)>& body);
/// `jobs`: 0 is decided by the number of cores.
Result<CompilePool> open_pool(const Settings& settings, std::size_t jobs = 0);
/// Names Python, folders of libraries and folders of descriptions.
OutsideOptions outside_options(const Settings& settings);
/// "2026-01-31", local time, which written results carry.
std::string today();

}  // namespace fatune::cli
