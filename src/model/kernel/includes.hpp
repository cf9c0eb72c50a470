// includes.hpp - a template's text to what the compiler will include for it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace fatune {

struct Include {
  std::size_t line = 0;  ///< counted from 1
  bool quoted = false;   ///< "name", else <name>
  /// Empty where the directive is not written plainly on its line: through a macro, as %:include or
  /// include_next, over several lines, behind a comment.
  std::string name;
};

/// Each directive that a compiler takes for an include; none of comments and literals.
std::vector<Include> includes_of(std::string_view text);

/// Lines that end in a backslash joined with the next ones.
std::string spliced(std::string_view text);

/// Those of includes_of a spliced text, and what looks like them within comments and literals: a
/// compiler that goes on behind an error may take them for code.
std::size_t possible_includes(std::string_view text);

}  // namespace fatune
