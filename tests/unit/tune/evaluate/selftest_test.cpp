// selftest_test.cpp: Checks rows of fixtures and honest kernels by outcome and gate.
#include "tune/evaluate/selftest.hpp"

#include <map>
#include <memory>
#include <optional>
#include <utility>

#include <catch2/catch_test_macros.hpp>

#include "support/custom_operation.hpp"
#include "support/test_kernels.hpp"

using namespace fatune;
using namespace fatune::test;

namespace {

struct Fate {
  Outcome outcome = Outcome::kMeasured;
  std::string reason;
  std::optional<Timing> in_layer{};
};

/// Gives every kernel the outcome that a test sets.
class FatedEvaluator final : public Evaluator {
 public:
  explicit FatedEvaluator(std::map<std::string, Fate> fates) : fates_(std::move(fates)) {
    environment_.limits = test_limits();
  }
  const Environment& environment() const override { return environment_; }
  Status begin_problem(const Problem& problem, const RunPlan& plan) override {
    cold_ = plan.record_cold;
    begun.push_back(problem);
    return {};
  }
  std::size_t capacity() const override { return 1; }
  Status submit(const Candidate& candidate) override {
    const Fate fate = fates_[candidate.kernel->manifest.name];
    record_ = {};
    record_.outcome = fate.outcome;
    record_.reason = fate.reason;
    record_.in_layer = fate.in_layer;
    return cold_ ? Status() : Status(usage_error("cold times are part of the self-test"));
  }
  Result<CandidateRecord> collect() override { return record_; }
  Result<std::vector<FinalRecord>> finals(const std::vector<Implementation>&,
                                          const FinalPlan&) override {
    return usage_error("a self-test has no final phase");
  }
  Result<std::vector<FinalRecord>> examine(const std::vector<Implementation>&,
                                           const FinalPlan&) override {
    return usage_error("a self-test examines nothing that was submitted");
  }

  std::vector<Problem> begun;

 private:
  std::map<std::string, Fate> fates_;
  Environment environment_;
  CandidateRecord record_;
  bool cold_ = false;
};

KernelRef fixture(const std::string& name, Fault fault) {
  auto kernel = std::make_shared<Kernel>(
      *make_kernel({.name = name, .axes = {{"FAULT", "[\"" + name + "\"]", ""}}, .role = "fault"}));
  kernel->manifest.parameters.front().faults = {std::move(fault)};
  return kernel;
}

const std::vector<KernelRef> kKernels = {fixture("cheat", {"wrong_result", "poison"}),
                                         fixture("hang", {"timeout", "launch"}),
                                         make_kernel({.name = "honest"})};

}  // namespace

TEST_CASE("a cheat is caught by the right outcome from the right gate") {
  FatedEvaluator evaluator({{"cheat", {Outcome::kWrongResult, "poison: 3 of 9 outputs"}},
                            {"hang", {Outcome::kTimeout, "a launch had not finished"}}});
  const auto result = run_selftest(kKernels, evaluator);
  REQUIRE(result);
  CHECK(result->passed());
  REQUIRE(result->cheats.size() == 2);
  CHECK(result->cheats[0].kernel == "cheat");
  CHECK(result->cheats[0].gate == "poison");
  CHECK(result->cheats[0].outcome == "wrong_result");
  CHECK(result->cheats[0].caught);
  REQUIRE(result->honest.size() == 1);
  CHECK(result->honest[0].caught);
}

TEST_CASE("another gate, another outcome, or an honest kernel that fails: not passed") {
  const Fate poison{Outcome::kWrongResult, "poison: 3"}, hung{Outcome::kTimeout, ""};
  for (const auto& fates : std::vector<std::map<std::string, Fate>>{
           {{"cheat", {Outcome::kWrongResult, "accuracy: max"}}, {"hang", hung}},
           {{"cheat", {Outcome::kMeasured, ""}}, {"hang", hung}},
           {{"cheat", poison}, {"hang", {Outcome::kCrashed, ""}}},
           {{"cheat", poison}, {"hang", hung}, {"honest", poison}}}) {
    FatedEvaluator evaluator(fates);
    const auto result = run_selftest(kKernels, evaluator);
    REQUIRE(result);
    CHECK_FALSE(result->passed());
  }
}

TEST_CASE("each value of a fixture's parameter is tried by itself") {
  auto kernel = std::make_shared<Kernel>(*make_kernel(
      {.name = "faults", .axes = {{"FAULT", "[\"wrong\", \"hang\"]", ""}}, .role = "fault"}));
  kernel->manifest.parameters.front().faults = {{"wrong_result", "poison"}, {"timeout", "launch"}};
  const std::vector<Fixture> fixtures = fixtures_of(kernel);
  REQUIRE(fixtures.size() == 2);
  CHECK(fixtures[1].name == "hang");
  CHECK(describe(fixtures[1].config) == "FAULT=hang");
  CHECK(fault_of(kernel->manifest, fixtures[1].config)->outcome == "timeout");
  FatedEvaluator evaluator({{"faults", {Outcome::kWrongResult, "poison: 3 of 9 outputs"}}});
  const auto result = run_selftest({kernel}, evaluator);
  REQUIRE(result);
  REQUIRE(result->cheats.size() == 2);
  CHECK(result->cheats[0].caught);
  CHECK(result->cheats[1].kernel == "hang");
  CHECK_FALSE(result->cheats[1].caught);
}

TEST_CASE("a fixture runs at its own problem") {
  const KernelRef kernel = fixture("cheat", {"wrong_result", "physics", test_problem()});
  FatedEvaluator evaluator({{"cheat", {Outcome::kWrongResult, "physics: 1 us"}}});
  const auto result = run_selftest({kernel, kKernels[2]}, evaluator);
  REQUIRE(result);
  CHECK(result->passed());
  CHECK(result->cheats[0].problem == test_problem());
  CHECK(evaluator.begun.size() == 2);
}

TEST_CASE("a cheat in a layer was not asked where nothing is timed in one") {
  const std::vector<KernelRef> kernels = {fixture("cheat", {"wrong_result", "in_layer"}),
                                          kKernels[2]};
  const std::pair<Fate, const char*> fates[] = {
      {{Outcome::kMeasured, ""}, "not_run"},
      {{Outcome::kMeasured, "", Timing{}}, "measured"},
      {{Outcome::kWrongResult, "in_layer: between two products"}, "wrong_result"}};
  for (const auto& [fate, outcome] : fates) {
    FatedEvaluator evaluator({{"cheat", fate}});
    const auto result = run_selftest(kernels, evaluator);
    REQUIRE(result);
    CHECK(result->cheats.at(0).outcome == outcome);
    CHECK(result->passed() == (fate.outcome == Outcome::kWrongResult || !fate.in_layer));
  }
}

TEST_CASE("an honest kernel that writes the log-sum-exp is asked with it and without") {
  auto honest = std::make_shared<Kernel>(*kKernels[2]);
  honest->manifest.lse = true;
  FatedEvaluator evaluator({{"cheat", {Outcome::kWrongResult, "poison: 3 of 9 outputs"}}});
  const auto result = run_selftest({kKernels[0], honest}, evaluator);
  REQUIRE(result);
  CHECK(result->passed());
  REQUIRE(result->honest.size() == 2);
  CHECK_FALSE(result->honest[0].problem.as_attention().lse);
  CHECK(result->honest[1].problem.as_attention().lse);
}

TEST_CASE("nothing to catch is no success, and a kernel for another device is left out") {
  FatedEvaluator nothing({});
  const auto empty = run_selftest({kKernels[2]}, nothing);
  REQUIRE(empty);
  CHECK_FALSE(empty->passed());
  auto newer = std::make_shared<Kernel>(*fixture("newer", {"wrong_result", "poison"}));
  newer->manifest.min_arch = 120;
  Fault elsewhere{"wrong_result", "poison"};
  elsewhere.when.require = "ARCH >= 120";
  FatedEvaluator evaluator({{"cheat", {Outcome::kWrongResult, "poison: 3"}}});
  const auto result =
      run_selftest({kKernels[0], newer, fixture("elsewhere", elsewhere)}, evaluator);
  REQUIRE(result);
  CHECK(result->cheats[1].outcome == "not_run");
  CHECK(result->cheats[2].outcome == "not_run");
  CHECK(result->cheats[2].reason == "needs ARCH >= 120");
  CHECK_FALSE(result->cheats[1].caught);
  CHECK(result->passed());
}

TEST_CASE("an operation's reference is spoiled at each tensor, for each gate that looks at it") {
  const auto cheats = cheats_at(custom_test_problem(), custom_kernels().back());
  REQUIRE(cheats);
  std::vector<std::pair<std::string, std::string>> planned;
  for (const Fixture& cheat : *cheats) planned.emplace_back(cheat.name, cheat.fault.gate);
  std::vector<std::pair<std::string, std::string>> expected = {{"changes_x", "inputs"},
                                                               {"changes_w", "inputs"}};
  for (const std::string tensor : {"y", "sums"}) {
    expected.insert(expected.end(), {{"zeros_in_" + tensor, "accuracy"},
                                     {"nan_in_" + tensor, "accuracy"},
                                     {"wrong_sign_in_" + tensor, "accuracy"},
                                     {"last_of_" + tensor + "_unwritten", "poison"},
                                     {"writes_past_" + tensor, "guard_bands"},
                                     {"varies_in_" + tensor, "repeat"},
                                     {"stops_writing_" + tensor, "timed_output"},
                                     {"keeps_old_" + tensor, "timed_output"}});
  }
  expected.insert(expected.end(), {{"does_nothing", "poison"}, {"begins_early", "early_start"}});
  CHECK(planned == expected);
  const auto plan = launch_plan({cheats->front().kernel, {}, custom_test_problem()}, test_limits());
  REQUIRE(plan);
  REQUIRE(plan->stages.size() == 3);
  CHECK(plan->stages[1].entry == "scale_reference");
  CHECK(plan->scratch.front().bytes == 512 * 64 * 2);
}

TEST_CASE("an output that is filled has the cheats that show without poison") {
  const std::string one = changed(kCustomReference, R"("shape": ["ROWS"], "output": true)",
                                  R"("shape": ["ROWS"], "output": true, "fill": "normal")");
  const std::string both =
      changed(one, R"({"name": "y", "shape": ["ROWS", "COLUMNS"], "output": true)",
              R"({"name": "y", "type": "i8", "shape": ["ROWS"], "output": true, "fill": "zeros")");
  for (const auto& [text, nothing] : {std::pair(one, "poison"), {both, "accuracy"}}) {
    const auto kernels = load_custom(text);
    REQUIRE(kernels);
    const auto cheats = cheats_at(custom_test_problem(), kernels->back());
    REQUIRE(cheats);
    std::map<std::string, std::string> gates;
    for (const Fixture& cheat : *cheats) gates[cheat.name] = cheat.fault.gate;
    CHECK(gates["does_nothing"] == nothing);
    for (const char* how : {"zeros_in_sums", "nan_in_sums", "wrong_sign_in_sums",
                            "writes_past_sums", "varies_in_sums", "stops_writing_sums"})
      CHECK(gates.contains(how));
    for (const char* how : {"last_of_sums_unwritten", "keeps_old_sums", "begins_early"})
      CHECK_FALSE(gates.contains(how));
    CHECK(gates.contains("keeps_old_y") == (nothing == std::string_view("poison")));
  }
}

TEST_CASE("a declared operation is tested at one problem, with all kernels that compute it") {
  const Problem problem = custom_test_problem();
  std::vector<KernelRef> kernels = custom_kernels();
  const KernelRef reference = kernels.back();
  kernels.insert(kernels.end(), kKernels.begin(), kKernels.end());
  std::map<std::string, Fate> fates = {{"scale", {Outcome::kInfeasible, "an odd size"}}};
  const auto cheats = cheats_at(problem, reference);
  REQUIRE(cheats);
  for (const Fixture& cheat : *cheats)
    fates[cheat.name] = {Outcome::kWrongResult, cheat.fault.gate + ": seen"};
  FatedEvaluator evaluator(fates);
  const auto result = run_selftest(kernels, problem, reference, evaluator);
  REQUIRE(result);
  CHECK(result->passed());
  CHECK(result->cheats.size() == cheats->size());
  REQUIRE(result->honest.size() == 2);
  CHECK(result->honest[0].outcome == "not_run");
  CHECK(result->honest[1].kernel == "scale_reference");
  CHECK(evaluator.begun == std::vector<Problem>{problem});
  fates["keeps_old_sums"] = {};
  FatedEvaluator blind(fates);
  CHECK_FALSE(run_selftest(kernels, problem, reference, blind)->passed());
}
