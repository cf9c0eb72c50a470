// selftest.hpp - `fatune verify --selftest`: do the gates catch what they are meant to catch?
#pragma once

#include <string>

#include "cli/options/settings.hpp"
#include "core/result.hpp"

namespace fatune::cli {

/// Prints the table, or fatune.selftest/2; returns the exit code. Needs a GPU: a recorded device is
/// a usage error, no driver an environment error.
Result<int> selftest(const std::string& device, const Settings& settings);

}  // namespace fatune::cli
