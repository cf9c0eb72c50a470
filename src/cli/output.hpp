// output.hpp - the only way results reach stdout, what was typed for them, and the exit codes.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "model/results/document.hpp"

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

/// What was typed.
struct Invocation {
  std::vector<std::string> words{};  ///< behind the program's name
  DocumentHead head{};               ///< of the document that answers it
  bool json = false;                 ///< an error, too, is answered by a document
};
/// "help sweep" is taken as "sweep --help".
Invocation read_invocation(std::vector<std::string> words);

/// Adds a newline when there is none; what files hide from a terminal is shown as \u001b.
void print(std::string_view text);
/// The command's last act: its exit code, or 4 where stdout did not take all of the answer.
int close_output(int code);
/// Logs the error and returns its exit code; where --json was typed, prints fatune.error/1, too.
int fail(const Invocation& invocation, const Error& error);
/// The same of a message with an exit code of its own.
int fail(const Invocation& invocation, int code, const std::string& message);
/// Files as typed, empty for none: fails when one cannot be written, before anything is measured.
Status check_files(std::initializer_list<std::string> files);

}  // namespace fatune::cli
