// outside_options.hpp - the user's settings to what implementations from elsewhere need.
#pragma once

#include "cli/options/settings.hpp"
#include "tune/evaluate/outside_settings.hpp"

namespace fatune::cli {

OutsideOptions outside_options(const Settings& settings);

}  // namespace fatune::cli
