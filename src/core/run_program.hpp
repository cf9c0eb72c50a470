// run_program.hpp - runs a program to its end, or to a deadline, and returns what it printed.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/child.hpp"
#include "core/result.hpp"

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

}  // namespace fatune
