// result.cpp: Implements the shared error handling of Result and Status, and failed checks.
#include "core/result.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>

#include <unistd.h>

#include "core/text.hpp"

namespace fatune {
namespace {

/// In bytes; chosen: a message repeats names of files, and those of strangers have any length.
constexpr std::size_t kLongestMessage = 16'384;

}  // namespace

Error::Error() = default;
Error::Error(ErrorKind what, std::string why) : kind(what), message(std::move(why)) {
  if (message.size() > kLongestMessage)
    message = std::string(head(message, kLongestMessage)) + "...";
}
Error::Error(const Error&) = default;
Error::Error(Error&&) noexcept = default;
Error& Error::operator=(const Error&) = default;
Error& Error::operator=(Error&&) noexcept = default;
Error::~Error() = default;

Error with_context(Error error, const std::string& doing) {
  error.message = "while " + doing + ": " + error.message;
  return error;
}

Error usage_error(std::string message) { return {ErrorKind::kUsage, std::move(message)}; }
Error environment_error(std::string message) {
  return {ErrorKind::kEnvironment, std::move(message)};
}
Error file_error(std::string message) { return {ErrorKind::kFile, std::move(message)}; }
Error device_error(std::string message) { return {ErrorKind::kDevice, std::move(message)}; }
Error impossible_error(std::string message) { return {ErrorKind::kImpossible, std::move(message)}; }

bool is_of_problem(const Error& error) {
  return error.kind == ErrorKind::kUsage || error.kind == ErrorKind::kImpossible;
}

// No allocation, destructor or exit handler runs, because the program's state may be corrupt.
void fail_check(const char* condition, const char* why, const char* file, int line) noexcept {
  std::array<char, 1024> text;
  const int length = std::snprintf(
      text.data(), text.size(), "fatune: bug: %s\n  broken: %s\n  at %s:%d; please report this\n",
      why, condition, file, line);
  const auto bytes = std::min(static_cast<std::size_t>(std::max(length, 0)), text.size() - 1);
  const ssize_t written = ::write(STDERR_FILENO, text.data(), bytes);
  static_cast<void>(written);  // there is nowhere left to report a failure
  ::_exit(70);
}

}  // namespace fatune
