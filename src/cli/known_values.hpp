// known_values.hpp - the names that options take, for completions: kernels, strategies, suites.
#pragma once

#include "base/result.hpp"
#include "cli/settings.hpp"
#include "manual/value_words.hpp"

namespace fatune::cli {

Result<ValueWords> known_values(const Settings& settings);

}  // namespace fatune::cli
