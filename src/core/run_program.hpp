// run_program.hpp: Runs other programs to their end, or exchanges lines with them.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/child.hpp"

namespace fatune {

struct ProgramRun {
  std::optional<ChildEnd> end;  ///< empty: killed at the deadline
  std::string text;             ///< stdout and stderr combined, the first 64 MiB
  bool succeeded() const { return end && !end->signalled && end->code == 0; }
};
/// Runs the command, whose `talk` and `stderr_file` are overwritten. Ctrl-C ends the program and
/// gives an interrupted error. A program that cannot be started is an environment error.
Result<ProgramRun> run_program(ChildCommand command, std::chrono::milliseconds patience);

/// Resolves a name without a slash in the folders, in order. The result is absolute, or empty if
/// there is no such executable file.
std::optional<std::filesystem::path> find_program(const std::string& name,
                                                  std::span<const std::filesystem::path> folders);

/// A program that reads and writes lines on stdin and stdout.
class LineProcess {
 public:
  /// Starts the program; its stderr goes to `stderr_file` of the command.
  static Result<LineProcess> start(ChildCommand command);

  bool started() const { return child_.started(); }
  /// Sends the line and a line end. An error if the program has closed its stdin.
  Status send(std::string_view line);
  /// Returns the next line without its line end. Empty after `patience`; an error if the program
  /// has closed its stdout.
  Result<std::optional<std::string>> receive(std::chrono::milliseconds patience);
  /// Returns the program's end. A program that just closed its stdout has a short grace period,
  /// others are killed.
  ChildEnd stop();

 private:
  Child child_;
  std::string buffer_;
};

}  // namespace fatune
