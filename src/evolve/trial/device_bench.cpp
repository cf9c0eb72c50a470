// device_bench.cpp: Tries drafts with an evaluator: searches configs and examines the fastest.
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "core/interrupt.hpp"
#include "core/log.hpp"
#include "evolve/trial/bench.hpp"
#include "model/results/comparison.hpp"
#include "model/space/space.hpp"
#include "search/strategies/strategy.hpp"
#include "tune/profile/counters.hpp"
#include "tune/profile/profile.hpp"
#include "tune/sweep/finals.hpp"

namespace fatune {
namespace {

Status not_interrupted() {
  if (!interrupted()) return {};
  return Error{ErrorKind::kInterrupted, "interrupted amid a trial"};
}

/// Returns the time that ranks configs.
const std::optional<Timing>& time_of(const Observation& record) {
  return searched_timing(record, Time::kInLayer);
}

/// Returns the trial's row for a record; `time` is the ranking time, if the record passed.
ShapeTrial row_of(const Observation& record, const Json& config, const std::string& problem,
                  std::optional<Time> time) {
  ShapeTrial row;
  row.problem = problem;
  row.outcome = record.outcome;
  row.reason = record.reason;
  row.gate = gate_of(record.outcome, record.reason);
  row.config = config;
  row.resources = record.resources;
  if (record.outcome != Outcome::kMeasured || !time || !timing_of(record, *time)) return row;
  row.time = time;
  row.time_us = timing_of(record, *time)->median_us;
  return row;
}

/// The records of a template's configs on a problem, and the fastest config.
struct SearchedConfigs {
  std::vector<CandidateRecord> records;
  std::optional<std::size_t> fastest;
  Config config{};  ///< the fastest config

  void add(CandidateRecord record, const Config& tried) {
    const auto& now = time_of(record);
    const bool right = record.outcome == Outcome::kMeasured && now;
    if (right && (!fastest || now->median_us < time_of(records[*fastest])->median_us)) {
      fastest = records.size();
      config = tried;
    }
    records.push_back(std::move(record));
  }
  /// Returns the fastest record; the first record, the default config, if none is correct.
  const CandidateRecord& representative() const { return records[fastest.value_or(0)]; }
};

/// Describes the bottleneck of a kernel and the findings about it.
std::string words_of(const Reading& reading) {
  std::string text = reading.sentence;
  for (const Finding& finding : reading.findings) {
    if (finding.mark == Mark::kBad) text += "; " + finding.what + ": " + finding.sentence;
  }
  return text;
}

class DeviceBench final : public Bench {
 public:
  DeviceBench(OpenEvaluator open, CountKernel count)
      : open_(std::move(open)), count_(std::move(count)) {}

  Status open() {
    FATUNE_TRY(evaluator_, open_());
    environment_ = evaluator_->environment();
    return {};
  }
  const Environment& environment() const override { return environment_; }

  Result<ShapeTrial> examine(const Draft& draft, const NamedProblem& problem,
                             const BenchOrder& order) override {
    if (evaluator_) {
      auto row = examine_once(draft, problem, order);
      if (row || row.error().kind == ErrorKind::kInterrupted) return row;
      evaluator_.reset();  // the device may be lost
    }
    FATUNE_TRY_STATUS(open());
    return examine_once(draft, problem, order);
  }

  /// Releases the device, because a profiler needs exclusive access.
  Result<std::string> profile(const KernelWithConfig& kernel,
                              const NamedProblem& problem) override {
    if (!count_) return std::string();
    const Candidate candidate{kernel.kernel, kernel.config, problem.problem};
    evaluator_.reset();
    FATUNE_TRY(const NcuOutcome outcome, count_(candidate, environment_.limits));
    if (outcome.status != ProfileStatus::kProfiled || longest(outcome.launches) == nullptr) {
      log::warn("no counters for proposers: " + outcome.reason);
      count_ = nullptr;
      return std::string();
    }
    FATUNE_TRY(const LaunchPlan plan, launch_plan(candidate, environment_.limits));
    const LaunchFacts facts = launch_facts(plan, Resources{}, environment_.limits);
    return words_of(read_counters(*longest(outcome.launches), facts));
  }

  Result<Duel> duel(const KernelWithConfig& start, const KernelWithConfig& best,
                    const NamedProblem& problem, int rounds) override {
    if (!evaluator_) FATUNE_TRY_STATUS(open());
    FinalPlan plan = examination_plan(Scrutiny::kFinal);
    plan.rounds = rounds;
    const Candidate first{start.kernel, start.config, problem.problem};
    const Candidate second{best.kernel, best.config, problem.problem};
    FATUNE_TRY(const auto records,
               evaluator_->examine({implementation_of(first), implementation_of(second)}, plan));
    return compare(records, label(problem));
  }

 private:
  Status begin(const Problem& problem) {
    RunPlan plan;
    plan.seed = unknown_seed();
    return evaluator_->begin_problem(problem, plan);
  }

  Result<ShapeTrial> examine_once(const Draft& draft, const NamedProblem& problem,
                                  const BenchOrder& order) {
    const std::string name = label(problem);
    ShapeTrial refused;
    refused.problem = name;
    refused.outcome = Outcome::kInfeasible;
    FATUNE_TRY(refused.reason,
               unsupported_reason(draft.kernel->manifest, problem.problem, environment_.limits));
    refused.gate = gate_of(refused.outcome, refused.reason);
    if (!refused.reason.empty()) return refused;
    Candidate candidate{draft.kernel, default_config(draft.kernel->manifest), problem.problem};
    if (draft.settings) candidate.config = *draft.settings;
    if (draft.settings || draft.kernel->manifest.parameters.empty())
      return examine_config(candidate, order, name);
    auto searched = search(draft, problem.problem, order);
    if (!searched && is_of_problem(searched.error())) {
      refused.reason = searched.error().message;
      return refused;
    }
    if (!searched) return std::move(searched).error();
    const CandidateRecord& representative = searched->representative();
    ShapeTrial row = row_of(representative, representative.config, name, std::nullopt);
    if (searched->fastest) {
      candidate.config = searched->config;
      FATUNE_TRY(row, examine_config(candidate, order, name));
    }
    row.evaluations = std::ssize(searched->records);
    return row;
  }

  /// Runs every gate and the rounds that rank trials.
  Result<ShapeTrial> examine_config(const Candidate& candidate, const BenchOrder& order,
                                    const std::string& problem) {
    FATUNE_TRY_STATUS(not_interrupted());
    FinalPlan plan = examination_plan(Scrutiny::kRank);
    plan.edge_problems = order.edges;
    FATUNE_TRY(const auto records, evaluator_->examine({implementation_of(candidate)}, plan));
    ShapeTrial row =
        row_of(records.front(), to_json(candidate.config), problem, final_time(records));
    row.evaluations = 1;
    return row;
  }

  /// Searches the configs of a template; a usage error if no config is valid.
  Result<SearchedConfigs> search(const Draft& draft, const Problem& problem,
                                 const BenchOrder& order) {
    FATUNE_TRY_STATUS(begin(problem));
    const auto space = Space::build(draft.kernel, problem, environment_.limits);
    if (!space) return usage_error(space.error().message);
    if (space->size() == 0) return usage_error("no config of it is valid on this problem");
    StrategyOptions options;
    options.seed = order.seed;
    options.budget = static_cast<std::uint64_t>(order.evaluations);
    if (const auto usual = space->default_point()) options.start.push_back(*usual);
    FATUNE_TRY(const auto strategy, make_strategy("evo", space->lattice(), options));
    SearchedConfigs searched;
    FATUNE_TRY_STATUS(run(*space, *strategy, order.evaluations, searched));
    return searched;
  }

  /// Keeps as many candidates in flight as the evaluator takes, so that compilations overlap.
  Status run(const Space& space, Strategy& strategy, std::int64_t most, SearchedConfigs& searched) {
    std::vector<Point> flying;
    std::int64_t asked = 0;
    for (bool more = true; more || !flying.empty();) {
      FATUNE_TRY_STATUS(not_interrupted());
      const std::size_t room = std::min(evaluator_->capacity(), strategy.most_in_flight());
      while (more && flying.size() < room) {
        const auto points = asked < most ? strategy.ask(1) : std::vector<Point>();
        more = !points.empty();
        if (!more) break;
        ++asked;
        FATUNE_TRY_STATUS(evaluator_->submit(space.candidate(points.front())));
        flying.push_back(points.front());
      }
      if (flying.empty()) break;
      FATUNE_TRY(CandidateRecord record, evaluator_->collect());
      const Point point = flying.front();
      flying.erase(flying.begin());
      const auto& time = time_of(record);
      const bool right = record.outcome == Outcome::kMeasured && time;
      strategy.tell({point, right ? std::optional(time->median_us) : std::nullopt});
      searched.add(std::move(record), space.config(point));
    }
    return {};
  }

  static Duel compare(const std::vector<FinalRecord>& records, const std::string& problem) {
    Duel duel;
    duel.problem = problem;
    for (const FinalRecord& record : records) {
      if (record.outcome == Outcome::kMeasured) continue;
      duel.reason = fmt::format("{}: {}", record.kernel, record.reason);
      return duel;
    }
    const Time time = final_time(records);
    duel.time = time;
    const auto& start = timing_of(records[0], time);
    const auto& best = timing_of(records[1], time);
    if (start) duel.start_us = start->median_us;
    if (best) duel.best_us = best->median_us;
    const auto ratio = ratio_of(records[0], records[1], time, Pairing::kRounds, FinalPlan().seed);
    if (ratio) duel.speedup = *ratio;
    if (!ratio) duel.reason = ratio.error().message;
    return duel;
  }

  OpenEvaluator open_;
  CountKernel count_;
  std::unique_ptr<Evaluator> evaluator_;
  Environment environment_;
};

}  // namespace

Result<std::unique_ptr<Bench>> make_device_bench(OpenEvaluator open, CountKernel count) {
  auto bench = std::make_unique<DeviceBench>(std::move(open), std::move(count));
  FATUNE_TRY_STATUS(bench->open());
  return std::unique_ptr<Bench>(std::move(bench));
}

}  // namespace fatune
