// includes.hpp - a template's text to the project headers that it includes.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fatune {

/// Each `#include "name"` with its line, counted from 1; those inside block comments are left out.
std::vector<std::pair<std::size_t, std::string>> quoted_includes(std::string_view text);

}  // namespace fatune
