// check.hpp: Declares the check that stops the program on a bug, in release builds too.
#pragma once

namespace fatune {

/// Prints the failed condition and its reason to stderr and exits with code 70.
[[noreturn]] void fail_check(const char* condition, const char* why, const char* file,
                             int line) noexcept;

}  // namespace fatune

#define FATUNE_CHECK(condition, why) \
  ((condition) ? static_cast<void>(0) : ::fatune::fail_check(#condition, why, __FILE__, __LINE__))
