// simulation_test.cpp: Runs the rank pool with 200 simulated ranks, some of which die.
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "support/captured_stderr.hpp"
#include "support/simulated_ranks.hpp"
#include "tune/fleet/rank_pool.hpp"

namespace fatune {
namespace {

constexpr int kRanks = 61;
constexpr std::size_t kParts = 300;

std::vector<test::SimulatedPart> random_parts(std::mt19937& random) {
  std::vector<test::SimulatedPart> parts(kParts);
  for (test::SimulatedPart& part : parts) {
    const std::size_t lines = 1 + random() % 10;
    for (std::size_t line = 0; line < lines; ++line) {
      part.end_s += 0.1 + static_cast<double>(random() % 50) / 10;
      part.lines.push_back({part.end_s, std::to_string(line)});
    }
  }
  return parts;
}

TEST_CASE("of three hundred parts nothing is lost and nothing is repeated when ranks die") {
  std::mt19937 random(42);
  const std::vector<test::SimulatedPart> parts = random_parts(random);
  test::InProcessNetwork network(kRanks);
  test::InProcessTransport transport(network, 0);
  test::SimulatedRanks ranks(network, parts);
  for (int dead = 0; dead < 10; ++dead)
    ranks.kill(1 + static_cast<int>(random() % (kRanks - 1)), static_cast<double>(random() % 60));

  RankPoolOptions options;
  options.own.fatune = "0.1.0";
  std::vector<std::string> journals(kParts);
  FleetWork work;
  work.journal_of = [&](std::size_t part, const Environment&) -> Result<std::string> {
    return std::to_string(part) + "\n" + journals[part];
  };
  work.take_lines = [&](std::size_t part, const FleetExecutor&, const std::string& lines) {
    journals[part] += lines;
    return Status();
  };
  RankPool pool(transport, ranks, work, std::move(options));
  FleetOptions fleet{.costs = {}, .on_event = [](const FleetEvent&) {}};
  for (const test::SimulatedPart& part : parts) fleet.costs.push_back(part.end_s);
  std::optional<Result<FleetResult>> result;
  const std::string said = test::captured_stderr([&] { result = run_fleet(fleet, pool); });
  REQUIRE(*result);
  CHECK((*result)->failed.empty());
  CHECK(said.find("was silent for 30 s") != std::string::npos);
  for (std::size_t part = 0; part < kParts; ++part) {
    std::string expected;
    for (const auto& line : parts[part].lines) expected += line.text + "\n";
    CHECK(journals[part] == expected);
  }
}

}  // namespace
}  // namespace fatune
