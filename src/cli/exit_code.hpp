// exit_code.hpp - turns an error's kind into the process's exit code.
#pragma once

#include <span>
#include <string>

#include "core/result.hpp"

namespace fatune::cli {

inline constexpr int kDone = 0;
inline constexpr int kAnswerIsNo = 1;
inline constexpr int kUsage = 2;
inline constexpr int kEnvironment = 3;
inline constexpr int kFiles = 4;
inline constexpr int kDevice = 5;
inline constexpr int kBug = 70;
inline constexpr int kInterrupted = 130;

struct ExitCode {
  int code;
  const char* word;     ///< "files"
  const char* meaning;  ///< a sentence
};
/// All of them, in order.
std::span<const ExitCode> exit_codes();

int exit_code(ErrorKind kind);
/// Logs the error and returns its exit code; where --json was typed, prints fatune.error/1, too.
int fail(const Error& error);
/// The same of a message with an exit code of its own.
int fail(int code, const std::string& message);

}  // namespace fatune::cli
