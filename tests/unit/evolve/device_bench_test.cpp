// device_bench_test.cpp: Tests drafts on a device and a compiler made of formulas.
#include <memory>

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

#include "evolve_fakes.hpp"
#include "support/fake_evaluator.hpp"

using namespace fatune;

namespace {

std::unique_ptr<Bench> bench_on(test::FakeDevice device, std::size_t* opened = nullptr) {
  auto bench = make_device_bench([=]() -> Result<std::unique_ptr<Evaluator>> {
    if (opened != nullptr) ++*opened;
    return std::unique_ptr<Evaluator>(std::make_unique<test::FakeEvaluator>(device));
  });
  REQUIRE(bench);
  return *std::move(bench);
}

Draft tiled_draft(const std::string& config = "") {
  auto draft = read_draft("extern \"C\" __global__ void main_entry() {}",
                          test::manifest_text("tiled", "attention"), config);
  REQUIRE(draft);
  return *std::move(draft);
}

test::FakeDevice slower_by_tile() {
  test::FakeDevice device;
  device.cost_us = [](const Config& config) {
    const double tile = test::number(config, "TILE");
    return 10 + (tile - 5) * (tile - 5);
  };
  return device;
}

}  // namespace

TEST_CASE("the configs of a template are tried, and the fastest is the trial's") {
  const auto bench = bench_on(slower_by_tile());
  const auto row = bench->examine(tiled_draft(), test::kSmall, {.evaluations = 12});
  REQUIRE(row);
  CHECK(row->passed());
  CHECK(row->config == Json{{"TILE", 5}});
  CHECK(row->evaluations == 7);  // of eight values the constraint leaves seven
  CHECK(row->time_us.value() == Catch::Approx(10).epsilon(0.1));
}

TEST_CASE("a draft with a config has that alone") {
  const auto bench = bench_on(slower_by_tile());
  const auto row = bench->examine(tiled_draft(R"({"TILE": 2})"), test::kSmall, {});
  REQUIRE(row);
  CHECK(row->config == Json{{"TILE", 2}});
  CHECK(row->evaluations == 1);
}

TEST_CASE("where every config fails, the default's failure is told") {
  auto device = slower_by_tile();
  device.fails = [](const Config&) { return std::optional(Outcome::kWrongResult); };
  const auto bench = bench_on(device);
  const auto row = bench->examine(tiled_draft(), test::kSmall, {.evaluations = 4});
  REQUIRE(row);
  CHECK(row->outcome == Outcome::kWrongResult);
  CHECK_FALSE(row->time_us);
  CHECK_FALSE(row->reason.empty());
}

TEST_CASE("a kernel that cannot do the problem is infeasible, and nothing runs") {
  const auto bench = bench_on(slower_by_tile());
  NamedProblem fp8 = test::kSmall;
  fp8.problem.as_attention().dtype = Dtype::kE4m3;
  const auto row = bench->examine(tiled_draft(), fp8, {});
  REQUIRE(row);
  CHECK(row->outcome == Outcome::kInfeasible);
}

TEST_CASE("a lost device is opened again once") {
  auto device = slower_by_tile();
  device.dies_after = 1;
  std::size_t opened = 0;
  const auto bench = bench_on(device, &opened);
  const auto row = bench->examine(tiled_draft(), test::kSmall, {.evaluations = 4});
  CHECK_FALSE(row);
  CHECK(opened == 2);
}

TEST_CASE("the best meets the start in the same rounds") {
  const auto bench = bench_on(slower_by_tile());
  const Draft draft = tiled_draft();
  const auto config = [&](int tile) {
    return Config{{{"TILE", Value{Value::Kind::kNumber, tile, ""}}}};
  };
  const auto duel = bench->duel({draft.key, draft.kernel, config(1)},
                                {draft.key, draft.kernel, config(5)}, test::kSmall, 20);
  REQUIRE(duel);
  INFO(duel->reason);
  REQUIRE(duel->speedup);
  CHECK(duel->speedup->value == Catch::Approx(2.6).epsilon(0.05));
  CHECK(duel->speedup->low < duel->speedup->value);
}

TEST_CASE("counters become words; once there are none they are not asked for again") {
  std::size_t asked = 0;
  NcuOutcome outcome{.status = ProfileStatus::kDenied, .reason = "administrators only"};
  auto bench = make_device_bench(
      []() -> Result<std::unique_ptr<Evaluator>> {
        return std::unique_ptr<Evaluator>(std::make_unique<test::FakeEvaluator>(slower_by_tile()));
      },
      [&](const Candidate&, const DeviceLimits&) -> Result<NcuOutcome> {
        ++asked;
        return outcome;
      });
  REQUIRE(bench);
  const Draft draft = tiled_draft();
  const KernelWithConfig kernel{draft.key, draft.kernel, default_config(draft.kernel->manifest)};
  for (int i = 0; i < 2; ++i) {
    const auto words = (*bench)->profile(kernel, test::kSmall);
    REQUIRE(words);
    CHECK(words->empty());
  }
  CHECK(asked == 1);
  CHECK((*bench)->examine(draft, test::kSmall, {.evaluations = 2}));  // the device comes back
}

TEST_CASE("without a GPU what compiles is unavailable, and what does not says why") {
  const auto bench = make_compile_bench(
      []() -> Result<Compilers> {
        auto compiler = std::make_unique<test::FakeCompiler>();
        compiler->compile = [](const CompileRequest& request) {
          Compiled compiled;
          compiled.ok = test::tile_of(request) != 3;
          if (!compiled.ok) compiled.problem = "tiled.cu(1): error: planned";
          compiled.entries["main_entry"].registers = 32;
          return compiled;
        };
        return Compilers{std::move(compiler), [](const Kernel&) { return std::string("fake"); }};
      },
      *typical_limits(Arch{90, 'a'}));
  CHECK_FALSE(bench->has_times());
  const auto good = bench->examine(tiled_draft(), test::kSmall, {});
  REQUIRE(good);
  CHECK(good->outcome == Outcome::kUnavailable);
  const auto bad = bench->examine(tiled_draft(R"({"TILE": 3})"), test::kSmall, {});
  REQUIRE(bad);
  CHECK(bad->outcome == Outcome::kCompileError);
  CHECK(bad->reason == "tiled.cu(1): error: planned");
}
