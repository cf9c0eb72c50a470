// result_test.cpp: Tests how values and errors propagate, and that a failed check ends the process.
#include "core/result.hpp"

#include <memory>
#include <string>

#include <catch2/catch_test_macros.hpp>
#include <sys/wait.h>
#include <unistd.h>

#include "core/file.hpp"
#include "support/captured_stderr.hpp"
#include "support/temporary_folder.hpp"

using namespace fatune;

namespace {

Result<int> half(int number) {
  if (number % 2 != 0) return usage_error("odd");
  return number / 2;
}

Status accept_even(int number) {
  FATUNE_TRY_STATUS(half(number));
  return {};
}

Result<int> quarter(int number) {
  FATUNE_TRY_STATUS(accept_even(number));
  FATUNE_TRY(const int halved, half(number));
  FATUNE_TRY(const int quartered, half(halved));
  return quartered;
}

}  // namespace

TEST_CASE("FATUNE_TRY binds values and returns errors") {
  CHECK(*quarter(8) == 2);
  CHECK(quarter(6).error().message == "odd");
  CHECK(quarter(5).error().message == "odd");
  CHECK(accept_even(4));
  CHECK_FALSE(accept_even(3));
}

TEST_CASE("a Result may hold what can only be moved") {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(7);
  const std::unique_ptr<int> value = *std::move(result);
  CHECK(*value == 7);
}

TEST_CASE("context goes in front and the kind stays") {
  const Error error = with_context(file_error("x.json: no such file"), "reading the suite");
  CHECK(error.message == "while reading the suite: x.json: no such file");
  CHECK(error.kind == ErrorKind::kFile);
  CHECK(environment_error("").kind == ErrorKind::kEnvironment);
  CHECK(device_error("").kind == ErrorKind::kDevice);
}

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
  CHECK(text.find("result_test.cpp:") != std::string::npos);
}
