// output.hpp: Writes results to stdout, and declares exit codes and the typed command.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/fields_fwd.hpp"
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
/// All exit codes, in order.
std::span<const ExitCode> exit_codes();

/// fatune.error/1: replaces the requested document after an error. stderr repeats the message.
struct ErrorDocument {
  DocumentHead head;
  std::string kind;  ///< word of the exit code: "usage", "files"
  std::string message;
  int exit_code = 0;
};
void fields(ErrorDocument& x, FieldList& f);

/// Typed command.
struct Invocation {
  std::vector<std::string> words{};  ///< words after the program's name
  DocumentHead head{};               ///< head of the command's document
  bool json = false;                 ///< an error is also answered by a document
};
/// Reads the typed words. "help sweep" becomes "sweep --help", "version" becomes "--version", and
/// no word "--help".
Invocation read_invocation(std::vector<std::string> words);

/// Prints text with a final newline. Control characters appear as \u001b.
void print(std::string_view text);
/// Closes stdout. Returns the exit code, or 4 if stdout did not take the whole answer.
int close_output(int code);
/// Logs the error and returns its exit code. With --json, also prints fatune.error/1.
int fail(const Invocation& invocation, const Error& error);
/// Overload for a message with an exit code of its own.
int fail(const Invocation& invocation, int code, const std::string& message);
/// Fails if a named file cannot be written, before anything is measured. Empty names are skipped.
Status check_files(std::initializer_list<std::string> files);

}  // namespace fatune::cli
