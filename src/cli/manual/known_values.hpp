// known_values.hpp - the names that options take, for completions: kernels, strategies, suites.
#pragma once

#include "cli/manual/value_words.hpp"
#include "cli/options/settings.hpp"
#include "core/result.hpp"

namespace fatune::cli {

Result<ValueWords> known_values(const Settings& settings);

}  // namespace fatune::cli
