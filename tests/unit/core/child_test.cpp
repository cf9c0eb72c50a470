// child_test.cpp: Tests the start of child processes, their connection and their end.
#include "core/child.hpp"

#include <thread>

#include <catch2/catch_test_macros.hpp>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <signal.h>
#include <unistd.h>

#include "core/file.hpp"
#include "support/temporary_folder.hpp"

using namespace fatune;
using namespace std::chrono_literals;

namespace {

Result<Child> start_shell(const std::string& script, std::filesystem::path stderr_file = {}) {
  return Child::start({.program = "/bin/sh",
                       .arguments = {"-c", script},
                       .extra_environment = {"FATUNE_TEST=from the parent", "HOME=/nowhere"},
                       .stderr_file = std::move(stderr_file)});
}

/// A frame of the channel written by a shell: a body of n bytes, n below 128.
std::string printf_frame(const std::string& body) {
  std::string octal;
  for (int digit = 2; digit >= 0; --digit) octal += std::to_string(body.size() >> (3 * digit) & 7U);
  return "printf '\\" + octal + "\\000\\000\\000" + body + "'";
}

bool exists(pid_t pid) { return ::kill(pid, 0) == 0; }

/// Waits for an orphan; a zombie counts as ended, because its new parent may reap it late.
bool ends_soon(pid_t pid) {
  for (int i = 0; i < 400; ++i) {
    const auto stat = read_file("/proc/" + std::to_string(pid) + "/stat");
    if (!exists(pid) || !stat || stat->find(") Z") != std::string::npos) return true;
    std::this_thread::sleep_for(5ms);
  }
  return false;
}

}  // namespace

TEST_CASE("a child says how it ended") {
  Child child = *start_shell("exit 3");
  const auto end = child.wait(10s);
  REQUIRE(end);
  CHECK_FALSE(end->signalled);
  CHECK(end->code == 3);
  CHECK(describe(*end) == "exit status 3");
  CHECK_FALSE(child.started());
  CHECK_FALSE(child.wait(0ms));

  Child crashing = *start_shell("kill -SEGV $$");
  const auto crash = crashing.wait(10s);
  REQUIRE(crash);
  CHECK(describe(*crash) == "signal SIGSEGV");
  CHECK(describe(ChildEnd{true, 99}) == "signal 99");
}

TEST_CASE("the channel is descriptor 3, and an echo comes back over it") {
  Child child = *Child::start({.program = "/bin/sh", .arguments = {"-c", "exec cat <&3 >&3"}});
  for (int i = 0; i < 3; ++i) {
    const Json message{{"number", i}, {"text", std::string(100'000, 'x')}};
    REQUIRE(child.channel().send(message));
    const auto reply = child.channel().receive(10s);
    REQUIRE(reply);
    REQUIRE(reply->has_value());
    CHECK(**reply == message);
  }
  CHECK_FALSE(child.wait(0ms));
  child.channel().close();  // end of input
  const auto end = child.wait(10s);
  REQUIRE(end);
  CHECK(describe(*end) == "exit status 0");
}

TEST_CASE("a message sent just before the end is still received") {
  Child child = *start_shell(printf_frame("{\"ok\":true}") + " >&3; exit 0");
  REQUIRE(child.wait(10s));
  CHECK((*child.channel().receive())["ok"] == true);
  CHECK_FALSE(child.channel().receive());
}

TEST_CASE("environment, stdin, stdout, stderr and limits are what a worker gets") {
  const test::TemporaryFolder folder;
  const auto log = folder / "log";
  Child child = *start_shell(
      "echo \"$FATUNE_TEST|$HOME|${PATH:+path}\"; echo error >&2; ulimit -c;"
      "read line || echo no input; echo $$ >&2",
      log);
  const pid_t pid = child.pid();
  CHECK(::getpgid(pid) == pid);
  REQUIRE(child.wait(10s));
  CHECK(*read_file(log) ==
        "from the parent|/nowhere|path\nerror\n0\nno input\n" + std::to_string(pid) + "\n");
}

TEST_CASE("a child gets the variables that are named, or begin so, and those of the command") {
  constexpr std::string_view kNames[] = {"FATUNE_CHILD_*", "HOME"};
  ::setenv("FATUNE_CHILD_A", "a", 1);
  ::setenv("FATUNE_CHILDREN", "b", 1);
  const test::TemporaryFolder folder;
  Child child = *Child::start({.program = "/bin/sh",
                               .arguments = {"-c", "env >&2"},
                               .extra_environment = {"TOLD=yes"},
                               .inherited = kNames,
                               .stderr_file = folder / "log"});
  REQUIRE(child.wait(10s));
  const std::string seen = *read_file(folder / "log");
  for (const char* there : {"FATUNE_CHILD_A=a\n", "HOME=", "TOLD=yes\n"})
    CHECK(seen.find(there) != std::string::npos);
  CHECK(seen.find("FATUNE_CHILDREN") == std::string::npos);
}

TEST_CASE("no descriptor of the parent is inherited") {
  const int leaky = ::fcntl(STDOUT_FILENO, F_DUPFD, 5);  // without close-on-exec
  REQUIRE(leaky >= 5);
  Child child = *start_shell("(: >&" + std::to_string(leaky) + ") 2>/dev/null && exit 1; exit 0");
  const auto end = child.wait(10s);
  ::close(leaky);
  REQUIRE(end);
  CHECK(end->code == 0);
}

TEST_CASE("kill ends the whole group, also one that ignores polite signals") {
  const test::TemporaryFolder folder;
  Child child = *start_shell("trap '' TERM INT HUP; sleep 100 & echo $! >&2; " +
                                 printf_frame("[1]") + " >&3; wait; sleep 100",
                             folder / "log");
  REQUIRE(child.channel().receive(10s));
  const auto end = child.kill();
  REQUIRE(end);
  CHECK(describe(*end) == "signal SIGKILL");
  CHECK(ends_soon(static_cast<pid_t>(std::stol(*read_file(folder / "log")))));
}

TEST_CASE("a kill that was begun ends the child, and wait() says so") {
  Child child = *start_shell("sleep 100");
  child.begin_kill();
  CHECK(child.started());
  const auto end = child.wait(10s);
  REQUIRE(end);
  CHECK(describe(*end) == "signal SIGKILL");
  Child().begin_kill();  // of none: nothing happens
}

TEST_CASE("what a child leaves running ends with it") {
  const test::TemporaryFolder folder;
  Child child = *start_shell("sleep 100 & echo $!; exit 0", folder / "log");
  REQUIRE(child.wait(10s));
  CHECK(ends_soon(static_cast<pid_t>(std::stol(*read_file(folder / "log")))));
}

TEST_CASE("the destructor and assignment end a running child") {
  pid_t pid = -1;
  {
    Child child = *start_shell("sleep 100");
    pid = child.pid();
    Child moved = std::move(child);
    CHECK_FALSE(child.started());
    CHECK(exists(pid));
    moved = Child();
    CHECK_FALSE(exists(pid));
    moved = *start_shell("sleep 100");
    pid = moved.pid();
  }
  CHECK_FALSE(exists(pid));
}

TEST_CASE("a program that cannot be started is an error with the reason") {
  CHECK(Child::start({.program = "/no/such/program"}).error().message ==
        "cannot start /no/such/program: No such file or directory");
  CHECK(start_shell("true", "/no/such/folder/log").error().message ==
        "/no/such/folder/log: cannot open for a worker's messages: No such file or directory");
}
