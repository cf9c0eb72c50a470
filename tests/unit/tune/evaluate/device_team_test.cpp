// device_team_test.cpp - candidates of one search on several devices, and times that compare.
#include "tune/evaluate/device_team.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

#include "support/evaluate_fakes.hpp"
#include "tune/evaluate/pipeline.hpp"

using namespace fatune;
using namespace fatune::test;
using Catch::Approx;

namespace {

using Answers = std::function<std::vector<Json>(const Json&)>;

bool is_anchor(const Json& order) { return !order.value("verify", true); }

/// A tile takes 10 us and its number, times how slow the device is.
Answers slower_by(double factor) {
  return [factor](const Json& order) -> std::vector<Json> {
    return {to_json(measured((10.0 + tile_of_run(order)) * factor))};
  };
}

/// Two devices behind a pipeline; the second takes 1.25 times as long.
struct Pair {
  KernelRef kernel = tiled_kernel("k");
  FakeCompiler compiler;
  FakeLink *home = new FakeLink, *other = new FakeLink;
  Answers at_home = slower_by(1), at_other = slower_by(1.25);
  DeviceTeam team{devices_of({home, other})};
  Pipeline pipeline{compiler,
                    team,
                    *typical_limits(Arch{90, 'a'}),
                    [](const Candidate& each) { return candidate_id(each, "options"); },
                    {[](const StartedRecord&) { return Status(); }, nullptr}};

  Pair() {
    home->answer = [this](const Json& order) { return answer_as_worker(order, at_home); };
    other->answer = [this](const Json& order) { return answer_as_worker(order, at_other); };
  }
  void begin() {
    FATUNE_CHECK(team.begin({}, "hot", nullptr), "home gets ready");
    pipeline.begin({});
  }
  CandidateRecord evaluate(int tile) {
    FATUNE_CHECK(pipeline.submit(make_candidate(kernel, tile)), "submitted");
    auto record = pipeline.collect();
    FATUNE_CHECK(record, "collected");
    return *record;
  }
  /// All in flight at once.
  std::vector<CandidateRecord> evaluate_together(std::initializer_list<int> tiles) {
    for (const int tile : tiles)
      FATUNE_CHECK(pipeline.submit(make_candidate(kernel, tile)), "submitted");
    std::vector<CandidateRecord> records;
    for (std::size_t i = 0; i < tiles.size(); ++i) {
      auto record = pipeline.collect();
      FATUNE_CHECK(record, "collected");
      records.push_back(*std::move(record));
    }
    return records;
  }
};

std::vector<Json> runs_of(const FakeLink& link) {
  std::vector<Json> runs;
  for (const Json& order : link.orders) {
    if (message_type(order) == "run") runs.push_back(order);
  }
  return runs;
}

std::ptrdiff_t anchors_of(const FakeLink& link) {
  const std::vector<Json> runs = runs_of(link);
  return std::ranges::count_if(runs, is_anchor);
}
std::ptrdiff_t candidates_of(const FakeLink& link) {
  return std::ssize(runs_of(link)) - anchors_of(link);
}

}  // namespace

TEST_CASE("a device alone is asked for nothing but candidates") {
  FakeLink* link = new FakeLink;
  link->answer = [](const Json& order) { return answer_as_worker(order, slower_by(1)); };
  DeviceTeam team(devices_of({link}));
  REQUIRE(team.begin({}, "hot", nullptr));
  for (int i = 0; i < 3; ++i) {
    REQUIRE(team.idle() == std::optional<std::size_t>(0));
    REQUIRE(team.start_run(0, {}, nullptr));
    const auto answer = team.finish(nullptr);
    REQUIRE((answer && *answer && (*answer)->reply));
    CHECK_FALSE((*answer)->measured_on);
  }
  CHECK(anchors_of(*link) == 0);
  CHECK(team.summary().empty());
}

TEST_CASE("home measures alone until a candidate of its is the anchor of all") {
  Pair pair;
  pair.begin();
  CHECK(pair.team.idle() == std::optional<std::size_t>(0));
  CHECK_FALSE(pair.evaluate(1).measured_on);
  CHECK(anchors_of(*pair.other) > 0);
  for (const Json& run : runs_of(*pair.other)) {
    CHECK(is_anchor(run));
    CHECK(tile_of_run(run) == 1);
  }
}

TEST_CASE("candidates of one search are dealt to both devices, with the times of home") {
  Pair pair;
  pair.begin();
  pair.evaluate(1);
  std::size_t elsewhere = 0;
  const std::vector<CandidateRecord> records = pair.evaluate_together({2, 3, 4, 5, 6, 8});
  const std::vector<int> tiles = {2, 3, 4, 5, 6, 8};
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    REQUIRE(records[i].hot);
    CHECK(records[i].config["TILE"] == tiles[i]);
    CHECK(records[i].hot->median_us == Approx(10.0 + tiles[i]));
    CHECK(records[i].hot->q3_us == Approx(10.0 + tiles[i]));
    if (!records[i].measured_on) continue;
    ++elsewhere;
    CHECK(records[i].measured_on->device == "cuda:1");
    CHECK(records[i].measured_on->scale == Approx(0.8));
  }
  CHECK(elsewhere > 0);
  CHECK(elsewhere < tiles.size());
  CHECK(anchors_of(*pair.home) == static_cast<std::ptrdiff_t>(DeviceTeam::kAnchorTimes));
  CHECK(anchors_of(*pair.other) == static_cast<std::ptrdiff_t>(DeviceTeam::kAnchorTimes));
  CHECK(pair.team.summary().find("cuda:1 measured") != std::string::npos);
  CHECK(pair.team.summary().find("x 0.8000") != std::string::npos);
}

TEST_CASE("the mark for giving up is told to a device in its own time") {
  Pair pair;
  pair.begin();
  pair.evaluate(1);
  pair.evaluate_together({2, 3, 4, 5, 6, 8});
  std::size_t marked = 0;
  for (const Json& run : runs_of(*pair.other)) {
    if (is_anchor(run)) {
      CHECK_FALSE(run.contains("best_hot_us"));
      continue;
    }
    ++marked;
    CHECK(run["best_hot_us"].get<double>() == Approx(11.0 * 1.25));
  }
  CHECK(marked > 0);
}

TEST_CASE("the anchor is timed anew after so many candidates of a device") {
  Pair pair;
  pair.begin();
  pair.compiler.compile = [compile = pair.compiler.compile,
                           n = 0](const CompileRequest& request) mutable {
    Compiled compiled = compile(request);
    compiled.cubin_hash = std::to_string(++n);  // or it would be a duplicate
    return compiled;
  };
  pair.evaluate(1);
  pair.evaluate(1);
  const std::ptrdiff_t before = anchors_of(*pair.other);
  pair.at_other = slower_by(2);  // it got hot
  std::size_t elsewhere = 0;
  std::optional<double> last;
  for (int i = 0; i < 200 && elsewhere < DeviceTeam::kRenewAfter + 2; i += 2) {
    for (const CandidateRecord& record : pair.evaluate_together({2, 3})) {
      if (!record.measured_on) continue;
      ++elsewhere;
      last = record.measured_on->scale;
    }
  }
  REQUIRE(elsewhere > DeviceTeam::kRenewAfter);
  CHECK(anchors_of(*pair.other) == before + static_cast<std::ptrdiff_t>(DeviceTeam::kAnchorTimes));
  CHECK(*last < 0.79);  // of half of the times each: 0.8 and 0.5
}

TEST_CASE("equal machine code is not run on two devices at once") {
  Pair pair;
  pair.begin();
  pair.evaluate(1);
  pair.compiler.compile = [compile = pair.compiler.compile](const CompileRequest& request) {
    Compiled compiled = compile(request);
    compiled.cubin_hash = "same";
    return compiled;
  };
  const std::vector<CandidateRecord> records = pair.evaluate_together({2, 3, 4});
  CHECK(candidates_of(*pair.home) + candidates_of(*pair.other) == 2);
  CHECK(records[0].outcome == Outcome::kMeasured);
  CHECK(records[1].outcome == Outcome::kDuplicate);
  CHECK(records[1].measured_on == records[0].measured_on);
}

TEST_CASE("a device that does not get ready is left out, and home goes on") {
  Pair pair;
  pair.other->answer = [](const Json& order) -> std::vector<Json> {
    if (message_type(order) == "begin") return {to_json(ErrorReply{device_error("out of memory")})};
    return answer_as_worker(order, slower_by(1));
  };
  pair.begin();
  for (const CandidateRecord& record : pair.evaluate_together({1, 2, 3, 4}))
    CHECK_FALSE(record.measured_on);
  CHECK(runs_of(*pair.other).empty());
}

TEST_CASE("what a device that breaks had is another's") {
  Pair pair;
  pair.begin();
  pair.evaluate(1);
  pair.at_other = [](const Json&) -> std::vector<Json> {
    return {to_json(ErrorReply{device_error("the GPU has fallen off the bus")})};
  };
  for (const CandidateRecord& record : pair.evaluate_together({2, 3, 4, 5, 6})) {
    CHECK(record.outcome == Outcome::kMeasured);
    CHECK_FALSE(record.measured_on);
  }
}

TEST_CASE("a device on which the anchor fails is left out; one that fails at home is replaced") {
  Pair pair;
  pair.begin();
  SECTION("elsewhere") {
    pair.at_other = [](const Json&) -> std::vector<Json> {
      RunReply reply;
      reply.outcome = Outcome::kLaunchError;
      reply.reason = "no";
      return {to_json(reply)};
    };
    pair.evaluate(1);
    for (const CandidateRecord& record : pair.evaluate_together({2, 3, 4, 5}))
      CHECK_FALSE(record.measured_on);
  }
  SECTION("at home") {
    pair.at_home = [](const Json& order) -> std::vector<Json> {
      RunReply reply = measured(10.0 + tile_of_run(order));
      if (is_anchor(order) && tile_of_run(order) == 1) reply.outcome = Outcome::kLaunchError;
      return {to_json(reply)};
    };
    pair.evaluate(1);
    CHECK_FALSE(pair.evaluate(2).measured_on);
    std::size_t elsewhere = 0;
    for (const CandidateRecord& record : pair.evaluate_together({3, 4, 5, 6, 8}))
      elsewhere += record.measured_on ? 1 : 0;
    CHECK(elsewhere > 0);
    CHECK(tile_of_run(runs_of(*pair.home).back()) != 1);
  }
}

TEST_CASE("what comes is told to workers that run, and starts the others") {
  Pair pair;
  REQUIRE(pair.team.hello(nullptr));
  pair.team.expect({});
  CHECK(pair.home->starts == 1);
  CHECK(message_type(pair.home->orders.back()) == "expect");
  pair.begin();
  CHECK(pair.evaluate(1).outcome == Outcome::kMeasured);
  pair.team.end();
  pair.team.expect({});
  CHECK(pair.home->starts == 2);
  CHECK(message_type(pair.home->orders.back()) == "expect");
  CHECK_FALSE(pair.team.idle());
  pair.begin();
  CHECK(pair.home->starts == 2);
  CHECK(pair.team.idle());
}
