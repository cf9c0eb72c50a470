// output.hpp - the only way results reach stdout.
#pragma once

#include <string_view>

#include "base/json.hpp"

namespace fatune::cli {

void print(std::string_view text);   ///< adds a newline when there is none
void print_json(const Json& value);  ///< one indented document

}  // namespace fatune::cli
