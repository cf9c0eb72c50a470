// check_test.cpp: Tests that a failed check ends the process with code 70 and its reason.
#include "core/check.hpp"

#include <string>

#include <catch2/catch_test_macros.hpp>
#include <sys/wait.h>
#include <unistd.h>

#include "core/file.hpp"
#include "support/captured_stderr.hpp"
#include "support/temporary_folder.hpp"

using namespace fatune;

TEST_CASE("a check that holds evaluates its condition once and not its reason") {
  int conditions = 0, reasons = 0;
  const auto reason = [&] {
    ++reasons;
    return "never asked for";
  };
  FATUNE_CHECK(++conditions == 1, reason());
  CHECK(conditions == 1);
  CHECK(reasons == 0);
}

TEST_CASE("a broken check exits with 70 and prints condition, reason and place") {
  int status = 0;
  const std::string text = test::captured_stderr([&] {
    const pid_t pid = ::fork();
    if (pid == 0) FATUNE_CHECK(1 + 1 == 3, "numbers are as usual");
    ::waitpid(pid, &status, 0);
  });
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 70);
  CHECK(text.starts_with("fatune: bug: numbers are as usual\n  broken: 1 + 1 == 3\n"));
  CHECK(text.find("check_test.cpp:") != std::string::npos);
}
