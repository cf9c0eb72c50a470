// paint_test.cpp: Tests text with and without colours.
#include <catch2/catch_test_macros.hpp>

#include "core/text.hpp"
#include "report/text/layout.hpp"

namespace fatune {
namespace {

TEST_CASE("without colours text stays as it is") {
  CHECK(Paint()(Tone::kBad, "no") == "no");
  CHECK(Paint(Colour::kNone)(Tone::kGood, "yes") == "yes");
}

TEST_CASE("colours end where the text ends, and have no width") {
  const std::string text = Paint(Colour::kAnsi)(Tone::kBad, "no");
  CHECK(printable(text) == "\x1b[31mno\x1b[0m");
  CHECK(display_width(text) == 2);
  CHECK(Paint(Colour::kAnsi)(Tone::kBad, "").empty());
}

}  // namespace
}  // namespace fatune
