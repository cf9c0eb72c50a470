// outside_options.hpp - the user's settings to what implementations from elsewhere need.
#pragma once

#include "baseline/settings.hpp"
#include "cli/settings.hpp"

namespace fatune::cli {

OutsideOptions outside_options(const Settings& settings);

}  // namespace fatune::cli
