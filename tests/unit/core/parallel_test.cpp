// parallel_test.cpp: Tests loops on several threads, and their time slice.
#include "core/parallel.hpp"

#include <atomic>
#include <chrono>
#include <future>
#include <thread>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace fatune;
using namespace std::chrono_literals;

TEST_CASE("every index is visited once") {
  for (const std::size_t count :
       {std::size_t{0}, std::size_t{1}, std::size_t{7}, std::size_t{1000}}) {
    for (const std::size_t least :
         {std::size_t{0}, std::size_t{1}, std::size_t{3}, std::size_t{5000}}) {
      std::vector<int> visits(count, 0);
      parallel_for(count, least, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) ++visits[i];
      });
      CHECK(visits == std::vector<int>(count, 1));
    }
  }
}

TEST_CASE("a range too short to share stays in one piece") {
  std::atomic<int> pieces = 0;
  parallel_for(100, 60, [&](std::size_t begin, std::size_t end) {
    ++pieces;
    CHECK(begin == 0);
    CHECK(end == 100);
  });
  CHECK(pieces == 1);
}

TEST_CASE("callers at the same time, and work that calls, visit every index once") {
  constexpr std::size_t kOuter = 8, kInner = 64, kTurns = 200;
  std::vector<std::vector<int>> visits(2 * kOuter, std::vector<int>(kInner, 0));
  const auto call = [&](std::size_t first) {
    for (std::size_t turn = 0; turn < kTurns; ++turn) {
      parallel_for(kOuter, 1, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = first + begin; i < first + end; ++i) {
          parallel_for(kInner, 1, [&, i](std::size_t from, std::size_t to) {
            for (std::size_t j = from; j < to; ++j) ++visits[i][j];
          });
        }
      });
    }
  };
  {
    const std::jthread other(call, kOuter);
    call(0);
  }
  for (const std::vector<int>& each : visits)
    CHECK(each == std::vector<int>(kInner, static_cast<int>(kTurns)));
}

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
