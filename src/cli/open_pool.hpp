// open_pool.hpp - the user's settings to a running compile pool.
#pragma once

#include "base/result.hpp"
#include "cli/settings.hpp"
#include "compile/pool.hpp"

namespace fatune::cli {

Result<CompilePool> open_pool(const Settings& settings);

}  // namespace fatune::cli
