// finals_test.cpp: Checks the choice of contestants for the final phase.
#include "tune/sweep/finals.hpp"

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "sweep_fixture.hpp"

namespace fatune {
namespace {

class Candidates {
 public:
  void add(const Point& point, double median_us, Outcome outcome = Outcome::kMeasured,
           double sem_relative = 0) {
    const Candidate candidate = space_.candidate(point);
    CandidateRecord record;
    record.id = candidate_id(candidate, "");
    record.key = candidate_key(candidate);
    record.kernel = candidate.kernel->manifest.name;
    record.config = to_json(candidate.config);
    record.problem = candidate.problem;
    record.outcome = outcome;
    record.hot = Timing{};
    record.hot->median_us = median_us;
    record.hot->sem_relative = sem_relative;
    records_.push_back(record);
  }
  /// Describes finalists as "finalist TILE=16 WARPS=1 STAGES=1", ...
  std::vector<std::string> chosen(std::size_t finalists, const KernelRef& reference) const {
    const auto limits = test::test_limits();
    return texts(choose_contestants(request(finalists, reference, limits), records_));
  }
  std::vector<std::string> reserves(std::size_t finalists) const {
    const auto limits = test::test_limits();
    const KernelRef reference = test::reference_kernel();
    const FinalsRequest wanted = request(finalists, reference, limits);
    const auto contestants = choose_contestants(wanted, records_);
    REQUIRE(contestants);
    return texts(choose_reserves(wanted, *contestants, records_));
  }

 private:
  FinalsRequest request(std::size_t finalists, const KernelRef& reference,
                        const DeviceLimits& limits) const {
    return {space_.problem(), kernels_, reference, limits, Time::kHot, finalists};
  }
  static std::vector<std::string> texts(const Result<std::vector<Implementation>>& contestants) {
    REQUIRE(contestants);
    std::vector<std::string> texts;
    for (const Implementation& c : *contestants)
      texts.push_back(c.impl + " " + std::string(name(c.role)) + " " +
                      describe(c.candidate.config));
    return texts;
  }

  std::vector<KernelRef> kernels_ = {test::toy_kernel()};
  Space space_ = *Space::build(kernels_.front(), test::test_problem(), test::test_limits());
  std::vector<CandidateRecord> records_;
};

TEST_CASE("reserves differ from the finalists in what these have in common") {
  Candidates candidates;
  candidates.add({1, 0, 0}, 10);
  candidates.add({2, 0, 0}, 11);
  candidates.add({1, 1, 0}, 12, Outcome::kWrongResult);
  candidates.add({2, 1, 0}, 13);
  candidates.add({0, 0, 0}, 14);
  candidates.add({1, 1, 1}, 15);
  // Both contestants have one warp and one stage and differ in tile.
  CHECK(candidates.reserves(2) ==
        std::vector<std::string>{"fatune:toy finalist TILE=64 WARPS=2 STAGES=1",
                                 "fatune:toy finalist TILE=32 WARPS=2 STAGES=2"});
}

TEST_CASE("the fastest measured candidates, the default and the baseline compete") {
  Candidates candidates;
  candidates.add({0, 0, 0}, 12);
  candidates.add({1, 0, 0}, 11);
  candidates.add({1, 1, 0}, 5, Outcome::kDuplicate);
  candidates.add({2, 0, 0}, 6, Outcome::kWrongResult);
  candidates.add({2, 1, 0}, 10);
  candidates.add({1, 1, 1}, 30, Outcome::kPruned);
  CHECK(candidates.chosen(2, test::reference_kernel()) ==
        std::vector<std::string>{"fatune:toy finalist TILE=64 WARPS=2 STAGES=1",
                                 "fatune:toy finalist TILE=32 WARPS=1 STAGES=1",
                                 "naive baseline EDGE=16"});
}

TEST_CASE("those that the search cannot tell from the fastest are finalists, too") {
  const auto finalists_beside = [](double error, double step_us = 1) {
    Candidates candidates;
    double median_us = 100;
    for (std::uint16_t tile = 0; tile < 3; ++tile)
      for (std::uint16_t warps = 0; warps < 2; ++warps, median_us += step_us)
        candidates.add({tile, warps, 0}, median_us, Outcome::kMeasured, error);
    return candidates.chosen(2, nullptr).size();
  };
  CHECK(finalists_beside(0.001) == 2);
  CHECK(finalists_beside(0.01) == 3);  // 2 % behind, and two errors are 2.8 %
  CHECK(finalists_beside(0.015) == 5);
  CHECK(finalists_beside(1) == 6);
  CHECK(finalists_beside(1, 4) == 3);  // single turns, at most 8.5 % behind
}

TEST_CASE("at most 20 are finalists because they cannot be told apart, and as many as are asked") {
  Candidates candidates;
  for (std::uint16_t tile = 0; tile < 3; ++tile)
    for (std::uint16_t warps = 0; warps < 4; ++warps)
      for (std::uint16_t stages = 0; stages < 2; ++stages)
        candidates.add({tile, warps, stages}, 100, Outcome::kMeasured, 0.1);
  CHECK(candidates.chosen(2, nullptr).size() == 20);
  CHECK(candidates.chosen(22, nullptr).size() == 22);
}

TEST_CASE("the default config competes if it ran and is not among the fastest") {
  const KernelRef kernel = test::make_kernel({.axes = {{"TILE", "[16, 32]", "32"}}});
  const Space space = *Space::build(kernel, test::test_problem(), test::test_limits());
  const auto limits = test::test_limits();
  const std::vector<KernelRef> kernels = {kernel};
  std::vector<CandidateRecord> records;
  for (std::uint64_t i = 0; i < 2; ++i) {
    const Candidate candidate = space.candidate(space.point(i));
    CandidateRecord record;
    record.key = candidate_key(candidate);
    record.kernel = "toy";
    record.config = to_json(candidate.config);
    record.problem = candidate.problem;
    record.hot = Timing{};
    record.hot->median_us = 10.0 + static_cast<double>(i);
    records.push_back(record);
  }
  const auto roles = [&](std::size_t finalists) {
    const auto contestants = choose_contestants(
        {space.problem(), kernels, nullptr, limits, Time::kHot, finalists}, records);
    REQUIRE(contestants);
    std::vector<RowRole> found;
    for (const Implementation& c : *contestants) found.push_back(c.role);
    return found;
  };
  CHECK(roles(8) == std::vector<RowRole>{RowRole::kFinalist, RowRole::kFinalist});
  CHECK(roles(1) == std::vector<RowRole>{RowRole::kFinalist, RowRole::kDefault});
  records[1].outcome = Outcome::kPruned;
  CHECK(roles(8) == std::vector<RowRole>{RowRole::kFinalist, RowRole::kDefault});
  records[1].outcome = Outcome::kCompileError;
  CHECK(roles(8) == std::vector<RowRole>{RowRole::kFinalist});
}

TEST_CASE("nobody competes when nothing was measured") {
  Candidates candidates;
  candidates.add({0, 0, 0}, 12, Outcome::kCrashed);
  CHECK(candidates.chosen(8, test::reference_kernel()).empty());
}

TEST_CASE("a reference that cannot do the problem is left out") {
  Candidates candidates;
  candidates.add({0, 0, 0}, 12);
  const KernelRef small = test::make_kernel({.name = "naive",
                                             .axes = {{"EDGE", "[16]", ""}},
                                             .problem_rules = {"SEQ_Q < 100"},
                                             .role = "reference"});
  CHECK(candidates.chosen(8, small).size() == 1);
}

}  // namespace
}  // namespace fatune
