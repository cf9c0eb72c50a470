// open_pool.hpp - the user's settings to a running compile pool.
#pragma once

#include "cli/options/settings.hpp"
#include "core/result.hpp"
#include "tune/compile/pool.hpp"

namespace fatune::cli {

Result<CompilePool> open_pool(const Settings& settings);

}  // namespace fatune::cli
