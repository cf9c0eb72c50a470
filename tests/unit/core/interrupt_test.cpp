// interrupt_test.cpp: Tests that one signal sets the flag and a second one ends the process.
#include "core/interrupt.hpp"

#include <catch2/catch_test_macros.hpp>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace fatune;

namespace {

/// Exit status of a process that runs `body`; -1 when a signal ended it.
template <typename Body>
int status_of(Body body) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    install_interrupt_handler();
    body();
    ::_exit(interrupted() ? 1 : 0);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

TEST_CASE("the first signal is a request, the second an order") {
  CHECK(status_of([] {}) == 0);
  CHECK(status_of([] { ::raise(SIGINT); }) == 1);
  CHECK(status_of([] { ::raise(SIGTERM); }) == 1);
  CHECK(status_of([] { ::raise(SIGHUP); }) == 1);
  CHECK(status_of([] {
          ::raise(SIGINT);
          ::raise(SIGTERM);
        }) == 130);
}

TEST_CASE("under nohup a closed terminal is no request") {
  const auto before = ::signal(SIGHUP, SIG_IGN);
  CHECK(status_of([] { ::raise(SIGHUP); }) == 0);
  ::signal(SIGHUP, before);
}

TEST_CASE("a request without a signal can be taken back") {
  request_interrupt();
  CHECK(interrupted());
  clear_interrupt();
  CHECK_FALSE(interrupted());
}
