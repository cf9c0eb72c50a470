// replay_test.cpp: Tests replays: the control, strategies, means and their JSON.
#include "search/replay/replay.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "recordings.hpp"

namespace fatune {
namespace {

using Catch::Approx;
using test::make_recording;
using test::make_rugged_recording;

Replay replayed(const Recording& recording, const ReplayOptions& options) {
  auto result = replay(recording, "space.json", options);
  REQUIRE(result);
  return *std::move(result);
}

TEST_CASE("the control is random search, with many repeats, and holds") {
  const Replay result = replayed(make_rugged_recording(600, 10),
                                 {.strategies = {"random", "ga"}, .run = {.repeats = 5}});
  CHECK(result.control.strategy == "random");
  CHECK(result.control.score.repeats >= kControlRepeats);
  CHECK(result.control_holds());
  REQUIRE(result.rows.size() == 2);
  CHECK(result.rows[0].score.repeats == result.control.score.repeats);
  CHECK(result.rows[1].score.repeats == 5);
  CHECK(result.rows[1].evaluations == 5 * 220);
  CHECK(result.configs == 600);
  CHECK(result.failed == 60);
  CHECK(result.control.published);
}

TEST_CASE("a score that random search should not have is noticed") {
  Replay result;
  result.control.score.p.emplace().value = 0.06;
  CHECK_FALSE(result.control_holds());
  result.control.score.p.reset();
  CHECK(result.control_holds());
}

/// A valley that a search can follow.
Recording bowl() {
  return make_recording({16, 16, 16}, [](const Point& p) {
    const double a = p[0] - 11.0, b = p[1] - 5.0, c = p[2] - 8.0;
    return 1 + 0.05 * (a * a + b * b + c * c);
  });
}

TEST_CASE("a search that uses structure beats random search, and asking ahead costs little") {
  ReplayOptions options{.strategies = {"ga"}, .run = {.repeats = 20}};
  CHECK(replayed(bowl(), options).rows[0].score.p->value > 0.5);
  options.run.batch = 4;
  CHECK(replayed(bowl(), options).rows[0].score.p->value > 0.3);
}

TEST_CASE("GPUs that differ as those of one host do cost a search little") {
  ReplayOptions options{.strategies = {"ga"}, .run = {.repeats = 100, .batch = 16}};
  const Replay one = replayed(bowl(), options);
  options.run.gpus = 4;
  const Replay four = replayed(bowl(), options);
  CHECK(four.rows[0].score.p->value != one.rows[0].score.p->value);  // it saw other times
  CHECK(four.rows[0].score.p->value > one.rows[0].score.p->value - 0.05);
  CHECK(four.control.score.p->value == one.control.score.p->value);  // it learns from none
}

TEST_CASE("a small space says where P ends, a tiny one that there is none") {
  const Replay small = replayed(make_rugged_recording(30, 0), {.strategies = {"random"}});
  CHECK(small.remarks == std::vector<std::string>{
                             "P is over t = 10 to 29: then random search has the optimum, too"});
  CHECK(small.control_holds());
  const Replay tiny = replayed(make_rugged_recording(1, 0), {.strategies = {"ga"}});
  CHECK_FALSE(tiny.rows[0].score.p);
  CHECK(tiny.rows[0].score.at[3]->value == 1);
  REQUIRE(tiny.remarks.size() == 1);
  CHECK(tiny.remarks[0].starts_with("no P"));
}

TEST_CASE("the published score is there where its runs fit the budget, or when asked for") {
  const Recording recording = make_rugged_recording(600, 0);
  ReplayOptions options{.strategies = {"ga"}, .run = {.repeats = 3, .budget = 20}};
  const Replay without = replayed(recording, options);
  REQUIRE(without.published_evaluations);
  CHECK(*without.published_evaluations > 20);
  CHECK_FALSE(without.rows[0].published);
  options.published_everywhere = true;
  CHECK(replayed(recording, options).rows[0].published);
}

TEST_CASE("a space in which everything failed is an error that names it") {
  const auto result =
      replay(make_recording({9}, [](const Point&) { return std::nullopt; }), "x", {});
  REQUIRE_FALSE(result);
  CHECK(result.error().message.starts_with("made-up: none of the 9 configs"));
}

TEST_CASE("means are over the spaces that have a P") {
  Replay first, second, third;
  first.file = "first";
  second.file = "second";
  const auto row = [](double p) {
    ReplayRow made;
    made.strategy = "ga";
    made.score.p = Estimate{p, p, p};
    return made;
  };
  first.rows = {row(0.5)};
  second.rows = {row(0.3)};
  third.rows.resize(1);
  third.rows[0].strategy = "ga";
  const auto means = mean_scores({first, second, third});
  REQUIRE(means.size() == 1);
  CHECK(means[0].spaces == 2);
  CHECK(means[0].p == Approx(0.4));
  CHECK(means[0].lowest == 0.3);
  CHECK(means[0].lowest_file == "second");
}

TEST_CASE("rows of fatune.replay/1") {
  const ReplayOptions options{.strategies = {"exhaustive"}, .run = {.repeats = 2, .budget = 60}};
  const Json json = to_json(ReplayDocument{{"1.0", "fatune replay", false},
                                           options,
                                           {replayed(make_rugged_recording(200, 3), options)}});
  CHECK(json.at("schema") == "fatune.replay/1");
  CHECK(json.at("command") == "fatune replay");
  CHECK(json.at("spaces").at(0).at("scored_to") == 60);
  CHECK(json.at("spaces").at(0).at("control").at("holds") == true);
  const Json& row = json.at("rows").at(0);
  CHECK(row.at("file") == "space.json");
  CHECK(row.at("strategy") == "exhaustive");
  CHECK(row.at("repeats") == 2);
  CHECK(row.at("P").is_number());
  CHECK(row.at("P_ci95").size() == 2);
  CHECK(row.at("at").at("50").is_number());
  CHECK(row.at("at").at("220").is_null());
  CHECK(row.at("within5").at("100").is_null());
  CHECK(row.at("evaluations") == 120);
}

}  // namespace
}  // namespace fatune
