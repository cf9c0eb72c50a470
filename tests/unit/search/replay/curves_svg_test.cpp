// curves_svg_test.cpp: Tests that the figure has a panel per space and a line per strategy.
#include <catch2/catch_test_macros.hpp>

#include "recordings.hpp"
#include "search/replay/replay.hpp"

namespace fatune {
namespace {

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++found;
  return found;
}

TEST_CASE("panels, lines, bands and a legend") {
  const auto scored =
      replay(test::make_rugged_recording(300, 5), "one & only.json",
             {.strategies = {"ga", "random", "exhaustive"}, .run = {.repeats = 4, .budget = 30}});
  REQUIRE(scored);
  std::vector<Replay> replays(2, *scored);
  replays.back().file = "two.json";
  const std::string svg = curves_svg(replays, 30);
  CHECK(svg.starts_with("<svg "));
  CHECK(svg.ends_with("</svg>\n"));
  CHECK(count(svg, "<clipPath") == 2);
  CHECK(count(svg, "<polyline") == 6);  // random is the control, once
  CHECK(count(svg, "<polygon") == 6);
  CHECK(count(svg, ">ga</text>") == 1);
  CHECK(count(svg, "one &amp; only.json") == 1);
  CHECK(count(svg, "nan") == 0);
  CHECK(svg == curves_svg(replays, 30));
}

}  // namespace
}  // namespace fatune
