// plots_svg_test.cpp: Tests which plots exist and that each is complete.
#include <catch2/catch_test_macros.hpp>

#include "page_sample.hpp"
#include "report/page/report_page.hpp"

namespace fatune {
namespace {

std::vector<Plot> plots_of(const std::vector<Record>& records) {
  const PageRun run = test::SampleRun(records).load();
  return plots(run.problems.front(), run);
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("bars and convergence of a run") {
  const std::vector<Plot> drawn = plots_of(test::sample_records());
  REQUIRE(drawn.size() == 2);
  CHECK(drawn[0].name == "baselines");
  CHECK(holds(drawn[0].svg, ">cudnn</text>"));
  CHECK(holds(drawn[0].svg, "12.50 us [12.38, 12.6"));
  CHECK(drawn[1].name == "convergence");
  CHECK(holds(drawn[1].svg, "class=\"best\""));
  for (const Plot& plot : drawn) {
    CHECK(plot.svg.starts_with("<svg "));
    CHECK(plot.svg.ends_with("</svg>\n"));
    CHECK_FALSE(holds(plot.svg, "nan"));
    CHECK_FALSE(holds(plot.svg, "inf"));
  }
}

TEST_CASE("a kernel has its own colour in every picture, the page's") {
  const std::vector<Plot> drawn = plots_of(test::sample_records());
  CHECK(holds(drawn[0].svg, "class=\"k2\" fill=\"currentColor\""));        // fa_mma's bar
  CHECK(holds(drawn[1].svg, "class=\"dot k2\" stroke=\"currentColor\""));  // and its dots
  CHECK(holds(drawn[1].svg, "class=\"dot k5\" stroke=\"currentColor\""));  // fa_tiled's
  for (const Plot& plot : drawn) CHECK(holds(plot.svg, ".k2 { color: #7a4bd0 }"));
}

TEST_CASE("a bar far longer than the others is cut") {
  std::vector<Record> records = test::sample_records();
  records.push_back(test::contestant("naive", "baseline", 400));
  CHECK(holds(plots_of(records)[0].svg, "… 400.00 us"));
}

TEST_CASE("one timed candidate alone makes a picture, none makes no picture") {
  CHECK(plots_of({test::candidate(1, "fa_mma", 32, 12)}).size() == 1);
  CHECK(plots_of({test::candidate(1, "fa_mma", 32, 0, Outcome::kTimeout, "late")}).empty());
}

}  // namespace
}  // namespace fatune
