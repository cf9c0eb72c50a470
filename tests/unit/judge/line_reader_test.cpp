// line_reader_test.cpp: Tests lines from pieces of text, and dropped lines above the limit.
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <unistd.h>

#include "core/descriptor.hpp"
#include "judge/protocol/server.hpp"

using namespace fatune;

namespace {

constexpr std::chrono::milliseconds kPatience{2000};

/// All lines of a text that arrives through a pipe; a line over the limit is "(long)".
std::vector<std::string> lines_of(const std::string& text, std::size_t limit) {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const Descriptor read_end(ends[0]);
  std::thread writer([end = ends[1], &text] {
    const Descriptor write_end(end);
    CHECK(write_all(write_end, text) == 0);
  });
  LineReader reader(read_end.raw(), limit);
  std::vector<std::string> lines;
  while (!reader.ended()) {
    CHECK(reader.wait(kPatience));
    while (const auto line = reader.next()) {
      CHECK((!line->too_long || line->text.empty()));
      lines.push_back(line->too_long ? "(long)" : line->text);
    }
  }
  writer.join();
  return lines;
}

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("lines end at line breaks and at the end") {
  CHECK(lines_of("", 10) == Lines{});
  CHECK(lines_of("a\nbc\n", 10) == Lines{"a", "bc"});
  CHECK(lines_of("a\n\nbc", 10) == Lines{"a", "", "bc"});
  CHECK(lines_of(std::string("a\0b\n", 4), 10) == Lines{std::string("a\0b", 3)});
}

TEST_CASE("a long line is dropped and the next one is read") {
  const std::string ten(10, 'x');
  CHECK(lines_of(ten + "\na\n", 10) == Lines{ten, "a"});
  CHECK(lines_of(ten + "x\na\n", 10) == Lines{"(long)", "a"});
  CHECK(lines_of(ten + "x", 10) == Lines{"(long)"});
  const std::string much(20'000'000, 'x');
  CHECK(lines_of(much + "\na\n" + much, 1000) == Lines{"(long)", "a", "(long)"});
}
