// time_slice_test.cpp: Tests that new threads and processes inherit the time slice.
#include "core/time_slice.hpp"

#include <future>

#include <catch2/catch_test_macros.hpp>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace fatune;
using namespace std::chrono_literals;

TEST_CASE("a time slice is that of the thread, and of what it starts") {
  const auto usual = time_slice();
  if (!usual) SKIP("before Linux 6.12 the system tells no slice");
  const int niceness = ::getpriority(PRIO_PROCESS, 0);
  set_time_slice(200us);
  CHECK(time_slice() == 200us);
  CHECK(::getpriority(PRIO_PROCESS, 0) == niceness);
  CHECK(std::async(std::launch::async, time_slice).get() == 200us);
  const pid_t child = ::fork();
  if (child == 0) ::_exit(time_slice() == 200us ? 0 : 1);
  int status = 1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  set_time_slice(0us);
  CHECK(time_slice() == usual);
}
