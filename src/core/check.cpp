// check.cpp: Reports a failed check on stderr and ends the process with exit code 70.
#include "core/check.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>

#include <unistd.h>

namespace fatune {

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
