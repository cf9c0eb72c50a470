// python_expression.hpp - Python's conditions and lists, as T1 files have them, to our expressions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "model/kernel/value.hpp"

namespace fatune {

/// "a == 0 or 32 <= b // 2 <= max(c, 8)" to "(a == 0) || ((32 <= floor_div(b, 2)) && ...)". Knows
/// and, or, not, comparisons and chains of them, + - * / // %, calls, True and False; anything else
/// is an error that `where` goes in front of.
Result<std::string> expression_from_python(std::string_view text, const std::string& where);

/// "[16, 0.5, 'word', True]" or "range(1, 9)", also as list(range(...)). Fractions are words that
/// read as numbers.
Result<std::vector<Value>> list_from_python(std::string_view text, const std::string& where);

}  // namespace fatune
