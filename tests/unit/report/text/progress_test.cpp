// progress_test.cpp: Tests progress as live lines and as plain lines.
#include "report/text/progress.hpp"

#include <sstream>

#include <catch2/catch_test_macros.hpp>

#include "core/text.hpp"

namespace fatune {
namespace {

SweepProgress sample() {
  SweepProgress progress;
  progress.problem = "mission 4,8,512,64 f16";
  progress.phase = "search";
  progress.done = 57;
  progress.all = 150;
  progress.outcomes = {{Outcome::kMeasured, 50}, {Outcome::kCompileError, 7}};
  progress.best_us = 9.81;
  progress.best_config = "fa_mma BLOCK_M=128 BLOCK_N=64";
  progress.best_history_us = {20, 15, 15, 9.81};
  progress.elapsed_s = 12.3;
  progress.left_s = 14.0;
  progress.activity = "timing";
  return progress;
}

TEST_CASE("the live lines tell where the sweep is and what is best") {
  CHECK(live_lines(sample(), 200) ==
        "mission 4,8,512,64 f16 · search 57/150 · 50 measured, 7 compile_error · 12.3 s, about "
        "14.0 s left\n"
        "  █▅▅▁ best 9.81 us fa_mma BLOCK_M=128 BLOCK_N=64 · timing");
}

TEST_CASE("lines are cut to the terminal") {
  const std::string lines = live_lines(sample(), 20);
  CHECK(lines == "mission 4,8,512,64 …\n  █▅▅▁ best 9.81 us…");
}

TEST_CASE("before the first success there is no best and no shape") {
  SweepProgress progress;
  progress.problem = "p";
  progress.phase = "search";
  progress.all = 5;
  progress.problems = 3;
  progress.problem_number = 2;
  CHECK(live_lines(progress, 80) == "[2/3] p · search 0/5 · 0.0 s\n  no correct candidate yet");
  CHECK(plain_line(progress) == "[2/3] p: search 0/5, no correct candidate yet, 0.0 s");
}

TEST_CASE("a sparkline shows the whole series between its lowest and highest") {
  CHECK(sparkline({}, 8).empty());
  CHECK(sparkline({5, 5}, 8) == "▁▁");
  CHECK(sparkline({64, 16, 4, 1}, 4) == "█▆▃▁");
  CHECK(sparkline({100, 100, 8, 8, 1, 1}, 3) == "█▄▁");
  CHECK(sparkline({100, 100, 8, 8, 1, 1, 1, 1}, 1) == "▁");
}

TEST_CASE("colours are around the sparkline, and not where it was cut") {
  const Paint paint(Colour::kAnsi);
  const auto lines = [&](std::size_t columns) {
    return printable(live_lines(sample(), columns, paint));
  };
  CHECK(lines(200).find("\n  \x1b[32m█▅▅▁\x1b[0m best 9.81 us") != std::string::npos);
  CHECK(lines(5).find('\x1b') == std::string::npos);
}

TEST_CASE("live lines are redrawn in place and removable") {
  std::ostringstream out;
  ProgressDisplay display(out, ProgressStyle::kLive, [] { return std::size_t{200}; });
  SweepProgress progress = sample();
  display.show(progress);
  const std::string first = out.str();
  CHECK(first == live_lines(progress, 199));
  progress.elapsed_s += 0.01;
  display.show(progress);
  CHECK(out.str() == first);
  progress.elapsed_s += 1;
  display.show(progress);
  const std::string erase = "\r\x1b[K\x1b[1A\r\x1b[K";
  CHECK(out.str() == first + erase + live_lines(progress, 199));
  out.str("");
  display.clear();
  display.clear();
  CHECK(out.str() == erase);
  display.draw();
  CHECK(out.str() == erase + live_lines(progress, 199));
}

TEST_CASE("plain progress is a line every 25 candidates, every 10 seconds and at a change") {
  std::ostringstream out;
  ProgressDisplay display(out, ProgressStyle::kPlain, [] { return std::size_t{80}; });
  SweepProgress progress;
  progress.problem = "p";
  progress.phase = "search";
  progress.all = 60;
  for (progress.done = 0; progress.done <= 60; ++progress.done) {
    progress.elapsed_s += 0.01;
    display.show(progress);
  }
  progress.done = 60;
  progress.elapsed_s = 20;
  display.show(progress);
  progress.phase = "final";
  display.show(progress);
  display.clear();
  CHECK(out.str() ==
        "p: search 0/60, no correct candidate yet, 0.0 s\n"
        "p: search 25/60, no correct candidate yet, 0.3 s\n"
        "p: search 50/60, no correct candidate yet, 0.5 s\n"
        "p: search 60/60, no correct candidate yet, 0.6 s\n"
        "p: search 60/60, no correct candidate yet, 20.0 s\n"
        "p: final 60/60, no correct candidate yet, 20.0 s\n");
}

}  // namespace
}  // namespace fatune
