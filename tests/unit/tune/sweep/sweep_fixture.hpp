// sweep_fixture.hpp: Provides a small sweep on a formula, in a temporary folder.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "core/file.hpp"
#include "core/interrupt.hpp"
#include "support/fake_evaluator.hpp"
#include "support/temporary_folder.hpp"
#include "support/test_kernels.hpp"
#include "tune/sweep/sweep.hpp"

namespace fatune::test {

/// A space with 52 valid points of 80; the best is TILE=64 WARPS=4 STAGES=2.
inline KernelRef toy_kernel(const std::string& name = "toy") {
  return make_kernel({.name = name,
                      .axes = {{"TILE", "[16, 32, 64, 128, 256]", "32"},
                               {"WARPS", "[1, 2, 4, 8]", "4"},
                               {"STAGES", "[1, 2, 3, 4]", ""}},
                      .rules = {"TILE * STAGES <= 512", "TILE >= 16 * WARPS || WARPS <= 2"}});
}
inline KernelRef reference_kernel() {
  return make_kernel({.name = "naive", .axes = {{"EDGE", "[16]", ""}}, .role = "reference"});
}

inline double toy_cost_us(const Config& config) {
  return 10 * (1 + 0.2 * std::abs(std::log2(number(config, "TILE") / 64))) *
         (1 + 0.15 * std::abs(std::log2(number(config, "WARPS") / 4))) *
         (1 + 0.1 * std::abs(number(config, "STAGES") - 2));
}

/// A device with one failing config of each kind. STAGES 3 and 4 give equal code for the smallest
/// tile.
inline FakeDevice toy_device() {
  FakeDevice device;
  device.cost_us = toy_cost_us;
  device.fails = [](const Config& config) -> std::optional<Outcome> {
    const double tile = number(config, "TILE"), warps = number(config, "WARPS");
    if (tile == 256 && warps == 1) return Outcome::kCompileError;
    if (tile == 128 && warps == 8) return Outcome::kLaunchError;
    if (tile == 128 && warps == 2) return Outcome::kWrongResult;
    if (tile == 64 && warps == 1) return Outcome::kTimeout;
    if (tile == 256 && warps == 8) return Outcome::kCrashed;
    if (tile == 16 && warps == 1) return Outcome::kPruned;
    return std::nullopt;
  };
  device.code = [](const Config& config) {
    const bool same = number(config, "TILE") == 16 && number(config, "STAGES") >= 3;
    return same ? "same " + std::to_string(number(config, "WARPS")) : describe(config);
  };
  return device;
}

struct SweepFixture {
  TemporaryFolder folder;
  std::vector<KernelRef> kernels = {toy_kernel()};
  KernelRef reference = reference_kernel();
  SweepOptions options;

  SweepFixture() {
    clear_interrupt();
    options.plan.problems = {{"mission", test_problem()}};
    options.plan.strategy = "ga";
    options.plan.budget_evaluations = 30;
    options.plan.command = "fatune sweep --shape 4,8,512,64";
    options.out = folder / "run";
    options.finals.rounds = 20;
  }
  ~SweepFixture() { clear_interrupt(); }

  Result<SweepResult> run(FakeEvaluator& evaluator) {
    options.clock = [&evaluator] { return evaluator.seconds(); };
    return run_sweep(options, kernels, reference, evaluator);
  }
  SweepResult run_well(FakeEvaluator& evaluator) {
    auto result = run(evaluator);
    if (!result) FAIL(result.error().message);
    return *std::move(result);
  }
  std::string text(const std::string& file) const {
    const auto read = read_file(options.out / file);
    REQUIRE(read);
    return *read;
  }
};

}  // namespace fatune::test
