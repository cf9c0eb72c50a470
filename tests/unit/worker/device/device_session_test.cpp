// device_session_test.cpp: Checks which processes on a GPU belong to a device worker.
#include "worker/device/device_session.hpp"

#include <csignal>

#include <catch2/catch_test_macros.hpp>
#include <sys/wait.h>
#include <unistd.h>

using namespace fatune;

TEST_CASE("a worker and its descendants are no other processes, its parent is one") {
  CHECK(is_own_process(::getpid()));
  CHECK_FALSE(is_own_process(::getppid()));
  CHECK_FALSE(is_own_process(1));
  CHECK_FALSE(is_own_process(0));
  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  CHECK(is_own_process(child));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  CHECK_FALSE(is_own_process(child));
}
