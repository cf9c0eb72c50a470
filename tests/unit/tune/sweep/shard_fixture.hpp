// shard_fixture.hpp: Sweeps a small suite on a formula, whole or in shards.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "sweep_fixture.hpp"
#include "tune/sweep/shard_runs.hpp"

namespace fatune::test {

struct ShardFixture : SweepFixture {
  FakeDevice device = toy_device();
  std::vector<std::string> gpus = {};  ///< UUIDs, in the order of shards

  ShardFixture() {
    options.plan.problems.clear();
    for (const std::int64_t length : {256, 4096, 512, 1024, 128}) {
      Attention problem = test_problem();
      problem.seq_q = problem.seq_kv = length;
      options.plan.problems.push_back({"s" + std::to_string(length), problem});
    }
    // The best tile differs by problem, so that a warm start from a neighbour would be visible.
    device.cost_on = [](const Config& config, const Problem& problem) {
      const double shift = std::log2(static_cast<double>(problem.as_attention().seq_q) / 512) / 4;
      return toy_cost_us(config) *
             (1 + 0.3 * std::abs(std::log2(number(config, "TILE") / 64) - shift));
    };
  }

  std::filesystem::path folder_of(std::uint64_t number, std::uint64_t of) const {
    return folder / ("shard-" + std::to_string(number) + "-of-" + std::to_string(of));
  }

  /// Sets the options for a shard.
  void choose(std::uint64_t number, std::uint64_t of) {
    auto shard = deal(options.plan.problems, number, of);
    REQUIRE(shard);
    options.plan.command = "fatune sweep --suite toy --shard " + describe(*shard) + " --seed 42";
    options.plan.shard = *std::move(shard);
    options.out = folder_of(number, of);
  }
  SweepResult run_shard(std::uint64_t number, std::uint64_t of) {
    choose(number, of);
    FakeEvaluator evaluator(device);
    if (!gpus.empty()) evaluator.editable_environment().device_uuid = gpus.at(number - 1);
    return run_well(evaluator);
  }
  std::vector<std::filesystem::path> run_all(std::uint64_t of) {
    std::vector<std::filesystem::path> folders;
    for (std::uint64_t number = 1; number <= of; ++number) {
      run_shard(number, of);
      folders.push_back(options.out);
    }
    return folders;
  }
  std::vector<ShardRun> loaded(const std::vector<std::filesystem::path>& folders) const {
    auto runs = load_shard_runs(folders);
    if (!runs) FAIL(runs.error().message);
    return *std::move(runs);
  }
  /// Returns the folder of the merged run.
  std::filesystem::path merge(const std::vector<std::filesystem::path>& folders,
                              const std::string& name) const {
    const auto runs = loaded(folders);
    const auto journal = merge_journals(runs);
    if (!journal) FAIL(journal.error().message);
    const auto best = merge_best(runs, *journal);
    if (!best) FAIL(best.error().message);
    const Status saved = save_merged(*journal, *best, folder / name, options.date);
    if (!saved) FAIL(saved.error().message);
    return folder / name;
  }
};

inline std::string text_of(const std::filesystem::path& file) {
  const auto text = read_file(file);
  REQUIRE(text);
  return *text;
}

}  // namespace fatune::test
