// includes.hpp: Lists the files that the compiler will include for a template.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace fatune {

struct Include {
  std::size_t line = 0;  ///< counted from 1
  bool quoted = false;   ///< "name"; otherwise <name>
  /// Empty for a directive that is not written plainly on its line: by a macro, as %:include or
  /// include_next, over several lines, after a comment.
  std::string name;
};

/// Returns each directive that a compiler takes for an include; skips comments and literals.
std::vector<Include> includes_of(std::string_view text);

/// Returns the logical lines without comments.
std::vector<std::string> code_lines(std::string_view text);

/// Joins each line that ends in a backslash with the next line.
std::string spliced(std::string_view text);

/// Returns includes_of() of a spliced text, and look-alikes in comments and literals: a compiler
/// that continues after an error may read them as code.
std::size_t possible_includes(std::string_view text);

}  // namespace fatune
