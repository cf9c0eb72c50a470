// scoring_test.cpp: Checks the terms of final scores, and the counted candidates.
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

#include "support/test_kernels.hpp"
#include "tune/sweep/finals.hpp"

namespace fatune {
namespace {

FinalRecord record(const std::string& id, const std::string& impl, double median_us) {
  FinalRecord made;
  made.id = id;
  made.impl = impl;
  made.role = id.empty() ? RowRole::kBaseline : RowRole::kFinalist;
  made.hot = Timing{};
  made.hot->median_us = median_us;
  made.resources = Resources{};
  made.resources->registers = 128;
  return made;
}

std::vector<FinalRecord> finals() {
  return {record("a", "fatune:toy", 10), record("b", "fatune:toy", 8), record("", "naive", 4),
          record("", "cudnn", 20), record("", "torch:flash", 16)};
}

TEST_CASE("speed is relative to the fastest of cuDNN and PyTorch") {
  const Scoring scoring = score_finals(finals(), {});
  REQUIRE(scoring.by_id.size() == 2);
  CHECK(scoring.by_id.at("a") == Catch::Approx(1600));
  CHECK(scoring.by_id.at("b") == Catch::Approx(2000));
  CHECK(scoring.note == "scored without tensor_pct, sm_busy, syncs");
}

TEST_CASE("without such a baseline there is no score, and it is said") {
  const Scoring scoring = score_finals({record("a", "fatune:toy", 10), record("", "naive", 4)}, {});
  CHECK(scoring.by_id.empty());
  CHECK(scoring.note.find("ranked by hot time") != std::string::npos);
  std::vector<FinalRecord> launched = {record("a", "fatune:toy", 10), record("", "naive", 4)};
  for (FinalRecord& each : launched) each.plain = each.hot;
  CHECK(score_finals(launched, {}).note.find("ranked by plain time") != std::string::npos);
}

TEST_CASE("a baseline that failed is none") {
  auto list = finals();
  list[3].outcome = list[4].outcome = Outcome::kUnavailable;
  CHECK(score_finals(list, {}).by_id.empty());
}

TEST_CASE("counters of all candidates count, with the reason for those that are absent") {
  std::map<std::string, DeviceUse> uses;
  uses["a"] = {60, 70, {}, "no disassembler"};
  uses["b"] = {50, 70, {}, "no disassembler"};
  const Scoring scoring = score_finals(finals(), uses);
  CHECK(scoring.by_id.at("a") == Catch::Approx(1600 + 120 + 70));
  CHECK(scoring.by_id.at("b") == Catch::Approx(2000 + 100 + 70));
  CHECK(scoring.note == "scored without syncs: no disassembler");
  uses.erase("b");
  CHECK(score_finals(finals(), uses).by_id.at("a") == Catch::Approx(1600));
}

TEST_CASE("only candidates are counted, and only where there will be scores") {
  const KernelRef kernel = test::make_kernel({.axes = {{"A", "[1, 2]", ""}}});
  const Candidate candidate{kernel, default_config(kernel->manifest), test::test_problem()};
  const std::vector<Implementation> contestants = {{"fatune:toy", RowRole::kFinalist, candidate}};
  auto list = finals();
  list[1].config = to_json(candidate.config);
  int calls = 0;
  const CountUse count = [&](const Candidate&) -> Result<DeviceUse> {
    ++calls;
    return DeviceUse{60, {}, {}, ""};
  };
  const auto uses = count_finalists(list, contestants, count);
  REQUIRE(uses);
  CHECK(calls == 1);
  CHECK(uses->at("b").tensor_pct == 60);
  list.resize(3);
  CHECK(count_finalists(list, contestants, count)->empty());
  CHECK(count_finalists(finals(), contestants, {})->empty());
  CHECK(calls == 1);
}

}  // namespace
}  // namespace fatune
