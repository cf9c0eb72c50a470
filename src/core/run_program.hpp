// run_program.hpp - other programs: run to their end, or spoken to line by line.
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
  std::optional<ChildEnd> end;  ///< empty: it was still running at the deadline and was killed
  std::string text;             ///< stdout and stderr together, the first 64 MiB
  bool succeeded() const { return end && !end->signalled && end->code == 0; }
};
/// `command.talk` and `command.stderr_file` are set here. Ctrl-C ends the program and is an
/// interrupted error; a program that cannot be started is an environment error.
Result<ProgramRun> run_program(ChildCommand command, std::chrono::milliseconds patience);

/// A name with a slash as it is, another in the first of the folders that has it; always absolute.
/// Empty when there is no such executable file.
std::optional<std::filesystem::path> find_program(const std::string& name,
                                                  std::span<const std::filesystem::path> folders);

/// A program spoken to over its stdin and stdout.
class LineProcess {
 public:
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
  Child child_;
  std::string buffer_;
};

}  // namespace fatune
