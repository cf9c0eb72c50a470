// line_process_test.cpp: Tests lines to and from a program, deadlines and the program's end.
#include <catch2/catch_test_macros.hpp>

#include "core/run_program.hpp"

using namespace fatune;
using namespace std::chrono_literals;

namespace {

LineProcess start_shell(const std::string& script) {
  auto process = LineProcess::start({.program = "/bin/sh", .arguments = {"-c", script}});
  REQUIRE(process);
  return *std::move(process);
}

}  // namespace

TEST_CASE("lines go to a program's stdin and come back from its stdout") {
  LineProcess process = start_shell("while read -r line; do echo \"<$line>\"; done");
  for (const std::string line : {"one", "", "three words here", "ünïcode"}) {
    REQUIRE(process.send(line));
    const auto answer = process.receive(10s);
    REQUIRE(answer);
    CHECK(*answer == "<" + line + ">");
  }
  const std::string large(300'000, 'x');
  REQUIRE(process.send(large));
  CHECK(**process.receive(10s) == "<" + large + ">");
}

TEST_CASE("several lines at once are taken one by one, and half a line waits for its end") {
  LineProcess process = start_shell("printf 'a\\nb\\nhal'; read -r go; echo f; read -r end");
  CHECK(**process.receive(10s) == "a");
  CHECK(**process.receive(10s) == "b");
  const auto nothing = process.receive(50ms);
  REQUIRE(nothing);
  CHECK_FALSE(nothing->has_value());
  REQUIRE(process.send("go"));
  CHECK(**process.receive(10s) == "half");
}

TEST_CASE("the end of a program is an error to its reader, and stop() says how it ended") {
  LineProcess ending = start_shell("echo last; exit 3");
  CHECK(**ending.receive(10s) == "last");
  CHECK_FALSE(ending.receive(10s));
  CHECK(describe(ending.stop()) == "exit status 3");
  CHECK_FALSE(ending.started());

  LineProcess hanging = start_shell("trap '' TERM; while :; do sleep 1; done");
  CHECK(describe(hanging.stop()) == "signal SIGKILL");
}
