// device_team_test.cpp: Distributes candidates of a search over several devices.
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

/// A run takes 10 us plus the tile number, times the slowness of the device.
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
    FATUNE_CHECK(team.begin({}, nullptr), "home gets ready");
    pipeline.begin({});
  }
  CandidateRecord evaluate(int tile) {
    FATUNE_CHECK(pipeline.submit(make_candidate(kernel, tile)), "submitted");
    auto record = pipeline.collect();
    FATUNE_CHECK(record, "collected");
    return *record;
  }
  /// Runs all candidates in flight at once.
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

std::ptrdiff_t candidates_of(const FakeLink& link) { return std::ssize(runs_of(link)); }

}  // namespace

TEST_CASE("a device alone is asked for nothing but candidates") {
  FakeLink* link = new FakeLink;
  link->answer = [](const Json& order) { return answer_as_worker(order, slower_by(1)); };
  DeviceTeam team(devices_of({link}));
  REQUIRE(team.begin({}, nullptr));
  for (int i = 0; i < 3; ++i) {
    REQUIRE(team.idle() == std::optional<std::size_t>(0));
    REQUIRE(team.start_run(0, {}, nullptr));
    const auto answer = team.finish(nullptr);
    REQUIRE((answer && *answer && (*answer)->reply));
    CHECK_FALSE((*answer)->measured_on);
  }
  CHECK(team.summary().empty());
}

TEST_CASE("candidates of one search are dealt to both devices, and records name the other") {
  Pair pair;
  pair.begin();
  std::size_t elsewhere = 0;
  const std::vector<int> tiles = {2, 3, 4, 5, 6, 8};
  const std::vector<CandidateRecord> records = pair.evaluate_together({2, 3, 4, 5, 6, 8});
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    REQUIRE(records[i].hot);
    CHECK(records[i].config["TILE"] == tiles[i]);
    const double slower = records[i].measured_on ? 1.25 : 1;
    CHECK(records[i].hot->median_us == Approx((10.0 + tiles[i]) * slower));
    if (!records[i].measured_on) continue;
    ++elsewhere;
    CHECK(records[i].measured_on->device == "cuda:1");
  }
  CHECK(elsewhere > 0);
  CHECK(elsewhere < tiles.size());
  CHECK(candidates_of(*pair.home) + candidates_of(*pair.other) == std::ssize(tiles));
  CHECK(pair.team.summary().find("cuda:1 measured") != std::string::npos);
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
  CHECK(candidates_of(*pair.home) + candidates_of(*pair.other) == 2);  // candidates with tile 1
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
