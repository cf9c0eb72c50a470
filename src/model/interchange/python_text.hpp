// python_text.hpp - the text of a Python file to statements and expressions; nothing is executed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.hpp"

namespace fatune {

/// kList is a list, a tuple, or the values of a dictionary. Of a call the first part is what is
/// called, the others are its arguments; of a member and an index the first part is the whole.
struct PyExpression {
  enum class Kind {
    kName,
    kWhole,
    kReal,
    kText,
    kList,
    kMember,
    kIndex,
    kCall,
    kNegative,
    kOperation
  };
  Kind kind = Kind::kName;
  std::string text{};  ///< name, member, content of a string, or operator: + - * / // % ** @
  std::int64_t whole = 0;
  double real = 0;
  std::vector<PyExpression> parts{};
  std::vector<std::pair<std::string, PyExpression>> keywords{};  ///< of a call
};

/// kOther: what is none of these, or has an expression that is beyond the ones above, such as a
/// comparison or a slice. Its text says what it was.
struct PyStatement {
  enum class Kind {
    kImport,
    kAssign,
    kReturn,
    kExpression,
    kFunction,
    kClass,
    kWith,
    kAssert,
    kOther
  };
  Kind kind = Kind::kOther;
  int line = 0;
  std::string text{};                ///< name of a function or a class; of kOther its first words
  std::vector<std::string> names{};  ///< assigned, imported, or a function's parameters
  std::vector<std::string> paths{};  ///< of an import: "torch.nn.functional" for each name
  PyExpression value{};              ///< assigned, returned, evaluated, or entered by "with"
  std::vector<PyStatement> body{};
};

/// Statements of a module. Text of more than 64 KiB, brackets that do not close, strings that do
/// not end, and nesting deeper than 64 are file errors that name `where` and the line.
Result<std::vector<PyStatement>> parse_python(std::string_view text, const std::string& where);
/// "batch * (seq + 1)": one expression.
Result<PyExpression> parse_python_expression(std::string_view text, const std::string& where);

/// The function or class of that name among the statements; null when there is none.
const PyStatement* find_block(const std::vector<PyStatement>& statements, PyStatement::Kind kind,
                              std::string_view name);

}  // namespace fatune
