// today.hpp - the date that written results carry.
#pragma once

#include <string>

namespace fatune::cli {

std::string today();  ///< "2026-01-31", local time

}  // namespace fatune::cli
