// fleet_bench.cpp: Measures the load of rank 0 and the use of GPUs, with simulated GPUs that replay
// a recorded suite.
#include <ctime>
#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/file.hpp"
#include "core/text.hpp"
#include "model/results/journal.hpp"
#include "support/simulated_ranks.hpp"
#include "tune/fleet/rank_pool.hpp"

namespace fatune {
namespace {

struct RecordedProblem {
  test::SimulatedPart part;
  double cost = 0;
};

/// The journal lines of each problem, with their times.
std::vector<RecordedProblem> recorded_problems(const std::filesystem::path& file) {
  const auto text = read_file(file, kLargeFile);
  FATUNE_CHECK(static_cast<bool>(text), "the suite's journal can be read");
  const auto journal = parse_journal(*text, file.string());
  FATUNE_CHECK(static_cast<bool>(journal), "it is one");
  const std::vector<std::string> lines = split(*text, '\n');
  std::vector<RecordedProblem> problems;
  std::map<Problem, std::size_t> places;
  double now_s = 0, begin_s = 0;
  for (std::size_t i = 0; i < journal->records.size(); ++i) {
    const auto* candidate = std::get_if<CandidateRecord>(&journal->records[i]);
    if (candidate != nullptr && places.try_emplace(candidate->problem, problems.size()).second) {
      if (!problems.empty()) problems.back().part.end_s = now_s - begin_s;
      begin_s = std::exchange(now_s, candidate->at_s);
      problems.push_back({{}, estimated_cost(candidate->problem)});
    }
    if (problems.empty()) continue;
    if (candidate != nullptr) now_s = std::max(now_s, candidate->at_s);
    problems.back().part.lines.push_back({now_s - begin_s, lines[i + 1]});
  }
  const auto* end = std::get_if<EndRecord>(&journal->records.back());
  problems.back().part.end_s = (end != nullptr ? end->seconds : now_s) - begin_s;
  return problems;
}

struct Figures {
  double leader_s = 0, work_s = 0;
  std::size_t records = 0, messages = 0;
  FleetResult fleet;
};

Figures simulate(const std::vector<RecordedProblem>& problems, int gpus, std::size_t count,
                 int deaths) {
  std::vector<test::SimulatedPart> parts;
  FleetOptions options;
  Figures figures;
  for (std::size_t i = 0; i < count; ++i) {
    const RecordedProblem& problem = problems[i % problems.size()];
    parts.push_back(problem.part);
    options.costs.push_back(problem.cost);
    figures.records += problem.part.lines.size();
    figures.work_s += problem.part.end_s;
  }
  test::InProcessNetwork network(gpus + 1);
  test::InProcessTransport transport(network, 0);
  test::SimulatedRanks ranks(network, parts);
  std::mt19937 random(1);
  const double about_s = figures.work_s / gpus;
  for (int i = 0; i < deaths; ++i)
    ranks.kill(1 + static_cast<int>(random() % static_cast<unsigned>(gpus)),
               about_s * static_cast<double>(random() % 1000) / 1000);
  RankPoolOptions pool_options;
  pool_options.own.fatune = "0.1.0";
  std::map<std::size_t, std::string> journals;
  FleetWork work;
  work.journal_of = [&](std::size_t part, const Environment&) -> Result<std::string> {
    return std::to_string(part) + "\n" + journals[part];
  };
  work.take_lines = [&](std::size_t part, const FleetExecutor&, const std::string& lines) {
    journals[part] += lines;
    return Status();
  };
  RankPool pool(transport, ranks, work, std::move(pool_options));
  options.on_event = [&](const FleetEvent& event) {
    if (event.kind == FleetEvent::Kind::kEnds) journals.erase(event.part);
  };
  const std::clock_t begin = std::clock();
  auto fleet = run_fleet(options, pool);
  FATUNE_CHECK(fleet && fleet->failed.empty(), "every part ends");
  figures.leader_s = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC - ranks.own_s();
  figures.messages = ranks.messages();
  figures.fleet = *std::move(fleet);
  return figures;
}

}  // namespace
}  // namespace fatune

/// bench_fleet JOURNAL GPUS PARTS DEATHS
int main(int argc, char** argv) {
  using namespace fatune;
  if (argc != 5) {
    fmt::print(stderr, "usage: {} JOURNAL GPUS PARTS DEATHS\n", argv[0]);
    return 2;
  }
  const auto number = [&](int place) { return parse_integer(argv[place]).value_or(1); };
  const auto gpus = static_cast<int>(number(2));
  const Figures figures =
      simulate(recorded_problems(argv[1]), gpus, static_cast<std::size_t>(number(3)),
               static_cast<int>(number(4)));
  const double simulated_s = figures.fleet.seconds;
  fmt::print(
      "{} GPUs, {} parts, {} deaths: {:.0f} s of simulated time, {:.1f} s of rank 0's processor\n"
      "{} records, {} messages: {:.0f} records and {:.0f} messages a second of it\n"
      "GPUs swept {:.1f} % of the time\n",
      gpus, number(3), number(4), simulated_s, figures.leader_s, figures.records, figures.messages,
      static_cast<double>(figures.records) / figures.leader_s,
      static_cast<double>(figures.messages) / figures.leader_s,
      100 * figures.work_s / (gpus * simulated_s));
  return 0;
}
