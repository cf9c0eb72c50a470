// python_lines.hpp - the text of a Python file to its logical lines of tokens.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace fatune {

constexpr int kDeepestPython = 64;  ///< brackets, blocks; chosen

/// Of kText what stands between the quotes, escapes as they are.
struct PyToken {
  enum class Kind { kName, kNumber, kText, kMark };
  Kind kind = Kind::kMark;
  std::string_view text;
};

/// A line of Python: what brackets and backslashes join is one.
struct PyLine {
  int number = 1;
  std::size_t indent = 0;
  std::vector<PyToken> tokens;
};

/// Fails at a bracket or a string that does not end, and at text of more than 64 KiB. The tokens
/// are parts of `text`.
Result<std::vector<PyLine>> python_lines(std::string_view text, const std::string& where);

}  // namespace fatune
