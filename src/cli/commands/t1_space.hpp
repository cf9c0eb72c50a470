// t1_space.hpp - `fatune kernels space`: a T1 file's space, counted.
#pragma once

#include <string>

#include "cli/options/settings.hpp"

namespace fatune::cli {

Result<int> show_t1_space(const std::string& path, const Settings& settings);

}  // namespace fatune::cli
