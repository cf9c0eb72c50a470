// line_process.hpp - a program spoken to line by line over its stdin and stdout.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "core/child.hpp"
#include "core/result.hpp"

namespace fatune {

class LineProcess {
 public:
  LineProcess() = default;
  /// Its stderr goes where the command says.
  static Result<LineProcess> start(ChildCommand command);

  bool started() const { return child_.started(); }
  /// Adds the end of the line. An error when the program reads no more.
  Status send(std::string_view line);
  /// The next line without its end. Empty when there is none within `patience`; an error when the
  /// program has closed its stdout.
  Result<std::optional<std::string>> receive(std::chrono::milliseconds patience);
  /// How it ended; a program that has just closed its stdout is given a moment, then it is killed.
  ChildEnd stop();

 private:
  std::optional<std::string> take_line();

  Child child_;
  std::string buffer_;
};

}  // namespace fatune
