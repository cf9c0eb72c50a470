// log_test.cpp: Tests the form of messages on stderr and the levels that are shown.
#include "core/log.hpp"

#include <catch2/catch_test_macros.hpp>
#include <unistd.h>

#include "support/captured_stderr.hpp"

using namespace fatune;

namespace {

void say_everything() {
  log::debug("d");
  log::info("i");
  log::warn("w {}");
  log::error("e");
}

}  // namespace

TEST_CASE("messages carry their level and no colour in a file") {
  log::set_level(log::Level::kDebug);
  CHECK(test::captured_stderr(say_everything) ==
        "fatune: debug: d\nfatune: i\nfatune: warning: w {}\nfatune: error: e\n");
  log::set_level(log::Level::kWarn);
  CHECK(test::captured_stderr(say_everything) == "fatune: warning: w {}\nfatune: error: e\n");
  log::set_level(log::Level::kQuiet);
  CHECK(test::captured_stderr(say_everything) == "fatune: error: e\n");
  log::set_level(log::Level::kInfo);
}

TEST_CASE("the interlude surrounds messages that are shown, and only these") {
  log::set_interlude([] { static_cast<void>(::write(2, "<", 1)); },
                     [] { static_cast<void>(::write(2, ">", 1)); });
  CHECK(test::captured_stderr(say_everything) ==
        "<fatune: i\n><fatune: warning: w {}\n><fatune: error: e\n>");
  log::set_interlude(nullptr, nullptr);
  CHECK(test::captured_stderr([] { log::info("i"); }) == "fatune: i\n");
}
