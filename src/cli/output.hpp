// output.hpp - the only way results reach stdout, and the files that they will go to.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "core/json.hpp"
#include "core/result.hpp"

namespace fatune::cli {

void print(std::string_view text);   ///< adds a newline when there is none
void print_json(const Json& value);  ///< one indented document
/// Files as typed, empty for none: fails when one cannot be written, before anything is measured.
Status check_files(std::initializer_list<std::string> files);

}  // namespace fatune::cli
