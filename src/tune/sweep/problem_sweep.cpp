// problem_sweep.cpp: Searches the spaces of a problem, and then runs its final phase.
#include "tune/sweep/problem_sweep.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/log.hpp"
#include "tune/sweep/search_loop.hpp"
#include "tune/sweep/warm_start.hpp"

namespace fatune {
namespace {

/// Describes an empty space: "no valid config: BLOCK_M % 64 == 0 (each warp owns 16 whole rows)
/// excludes 12; ..."
std::string describe_empty(const Space& space) {
  std::vector<std::string> rules;
  for (const RuledOut& rule : space.ruled_out()) {
    if (rule.points == 0) continue;
    const std::string why = rule.why.empty() ? "" : fmt::format(" ({})", rule.why);
    rules.push_back(fmt::format("{} excludes {}{}", rule.rule, rule.points, why));
  }
  return fmt::format("no valid config of {}: {}", space.raw_size(), fmt::join(rules, "; "));
}

void add_ruled_out(const Space& space, bool several_kernels, ProblemResult& result) {
  const std::string prefix = several_kernels ? space.kernel().manifest.name + ": " : "";
  for (RuledOut rule : space.ruled_out()) {
    if (rule.points == 0) continue;
    rule.why = prefix + rule.why;
    result.ruled_out.push_back(std::move(rule));
  }
}

/// Returns the default config and known best configs of this kernel, nearest problem first.
std::vector<Point> start_points(const Space& space, const SavedConfigs& known_configs,
                                const Arch& arch, ProblemResult& result) {
  std::vector<Point> start;
  if (const auto usual = space.default_point()) start.push_back(*usual);
  const Manifest& manifest = space.kernel().manifest;
  std::size_t warm = 0;
  for (const SavedConfig& known :
       nearest_known(known_configs, manifest.name, space.problem(), arch)) {
    if (warm == kWarmStarts) break;
    const auto config = config_from_json(manifest, known.config, known.source);
    if (!config) continue;
    auto point = space.point_of(*config);
    if (!point || !space.contains(*point)) continue;
    if (std::ranges::find(start, *point) == start.end()) start.push_back(*std::move(point));
    result.warm_starts.push_back(known);
    ++warm;
  }
  return start;
}

/// A strategy that asks for given points in order and learns nothing.
class PointList final : public Strategy {
 public:
  explicit PointList(std::vector<Point> points) : points_(std::move(points)) {}
  std::string_view name() const override { return "list"; }
  std::vector<Point> ask(std::size_t count) override {
    std::vector<Point> asked;
    while (asked.size() < count && next_ < points_.size()) asked.push_back(points_[next_++]);
    return asked;
  }
  void tell(const EvaluatedPoint&) override {}

 private:
  std::vector<Point> points_;
  std::size_t next_ = 0;
};

/// Adds a search per kernel. With --budget 0 it tries configs known for exactly this problem, or
/// else the nearest known ones, and the default configs.
Result<std::uint64_t> add_searches(SavedConfigs known, const std::vector<Space>& spaces,
                                   const RunState& run, ProblemResult& result, SearchLoop& loop) {
  const Arch& arch = run.environment.limits.arch;
  const bool search = run.plan.strategy != kKnownStrategy;
  if (!search) {
    auto exact = known_exactly(known, run.plan.kernels, result.problem.problem, arch);
    if (!exact.empty()) known = std::move(exact);
  }
  std::uint64_t known_points = 0;
  for (const Space& space : spaces) {
    StrategyOptions options;
    options.seed = run.plan.seed;
    options.budget = sure_evaluations(run.plan, result.valid_points);
    const bool counted = run.plan.patience == 0 && !run.plan.budget_seconds;
    options.scarce = counted ? Scarce::kEvaluations : Scarce::kTime;
    options.one_lever = run.plan.one_lever;
    options.start = start_points(space, known, arch, result);
    if (!search) {
      known_points += options.start.size();
      loop.add(space, std::make_unique<PointList>(std::move(options.start)));
      continue;
    }
    FATUNE_TRY(auto strategy, make_strategy(run.plan.strategy, space.lattice(), options));
    loop.add(space, std::move(strategy));
  }
  return search ? result.valid_points : known_points;
}

/// Runs trials in turn, one candidate each, so that all kernels have results at the end. Without a
/// limit each kernel is searched to its end instead.
Status run_trials(const Budget& budget, RunState& run, SearchLoop& loop) {
  const Share& whole = budget.whole();
  const bool in_turn = whole.evaluations != kUnlimited || std::isfinite(whole.deadline_s);
  const auto may_ask = [&](std::size_t search) {
    const Share& trial = budget.trial(search);
    const KernelStanding& standing = loop.standing(search);
    return !run.interrupted && !run.journal.is_nearly_full() && !standing.exhausted &&
           standing.asked < trial.evaluations && run.clock.now() < trial.deadline_s;
  };
  for (bool any = true; any;) {
    any = false;
    for (std::size_t i = 0; i < loop.size(); ++i) {
      while (may_ask(i)) {
        FATUNE_TRY_STATUS(loop.make_room(i));
        if (!may_ask(i)) break;
        FATUNE_TRY_STATUS(loop.ask(i));
        any = true;
        if (in_turn) break;
      }
    }
  }
  return {};
}

/// Runs trials of all kernels, and then lets kernels compete for each candidate by their results.
/// The competition does not wait for the last results of the trials.
Status search_spaces(const SavedConfigs& known, const std::vector<Space>& spaces, RunState& run,
                     ProblemResult& result) {
  std::vector<std::uint64_t> sizes;
  for (const Space& space : spaces) sizes.push_back(space.size());
  const Budget budget(run.plan, sizes, run.clock.now());
  const Share& whole = budget.whole();
  SearchLoop loop(run, result);
  FATUNE_TRY(const std::uint64_t all, add_searches(known, spaces, run, result, loop));
  run.progress.plan_candidates(std::min(whole.evaluations, all), whole.deadline_s);
  if (loop.size() > 1) FATUNE_TRY_STATUS(run_trials(budget, run, loop));
  std::vector<std::uint64_t> in_trials;
  for (std::size_t i = 0; i < loop.size(); ++i) in_trials.push_back(loop.standing(i).asked);
  for (;;) {
    std::vector<KernelStanding> standings;
    for (std::size_t i = 0; i < loop.size(); ++i) {
      standings.push_back(loop.standing(i));
      standings.back().asked -= in_trials[i];
    }
    const std::size_t next = next_kernel(standings);
    const bool spent = loop.asked() >= whole.evaluations || run.clock.now() >= whole.deadline_s;
    if (run.interrupted || run.journal.is_nearly_full() || spent || next == loop.size()) break;
    // A candidate in flight may still be faster and extend the search.
    const bool waits = loop.asked() >= budget.worth_asking(loop.fastest());
    if (waits && !loop.in_flight()) break;
    FATUNE_TRY_STATUS(waits || !loop.has_room(next) ? loop.settle_one() : loop.ask(next));
  }
  return loop.finish();
}

/// Records the infeasible default config of each kernel without a valid config.
Status settle_barred(const std::vector<Candidate>& barred, RunState& run, ProblemResult& result) {
  for (const Candidate& candidate : barred) {
    auto record = run.journal.find(candidate);
    if (!record) {
      FATUNE_TRY_STATUS(run.begin(candidate.problem));
      FATUNE_TRY_STATUS(run.evaluator->submit(candidate));
      FATUNE_TRY(record, run.evaluator->collect());
      FATUNE_TRY_STATUS(run.write(*record));
    }
    ++result.outcomes[record->outcome];
    result.candidates.push_back(*std::move(record));
  }
  return {};
}

}  // namespace

Result<KernelSpaces> build_spaces(const std::vector<KernelRef>& kernels, const DeviceLimits& limits,
                                  ProblemResult& result) {
  const Problem& problem = result.problem.problem;
  KernelSpaces built;
  for (const KernelRef& kernel : kernels) {
    const std::string& name = kernel->manifest.name;
    FATUNE_TRY(const std::string reason, unsupported_reason(kernel->manifest, problem, limits));
    if (!reason.empty()) {
      result.left_out.push_back(name + ": " + reason);
      continue;
    }
    FATUNE_TRY(Space space, Space::build(kernel, problem, limits));
    result.raw_points += space.raw_size();
    result.valid_points += space.size();
    add_ruled_out(space, kernels.size() > 1, result);
    if (space.size() == 0) {
      result.left_out.push_back(name + ": " + describe_empty(space));
      built.barred.push_back({kernel, default_config(kernel->manifest), problem});
    } else {
      built.spaces.push_back(std::move(space));
    }
  }
  if (built.spaces.empty()) {
    return impossible_error(fmt::format("no kernel can do {} on {}:\n  {}", describe(problem),
                                        name(limits.arch), fmt::join(result.left_out, "\n  ")));
  }
  std::ranges::stable_sort(built.spaces, {}, &Space::size);
  return built;
}

namespace {

/// Restores the candidates of the journal for a final phase without a search. The clock ends a
/// search, so a second search would find other candidates and repeat their final phase.
void take_journalled(const SavedConfigs& known, const std::vector<Space>& spaces, RunState& run,
                     ProblemResult& result) {
  const Arch& arch = run.environment.limits.arch;
  for (const Space& space : spaces) static_cast<void>(start_points(space, known, arch, result));
  const auto journalled = run.journal.results(result.problem.problem);
  run.progress.plan_candidates(journalled.size(), 0);
  for (const CandidateRecord& each : journalled) {
    run.clock.replay(each.at_s);
    take_result(each, run, result);
  }
}

Status search(const SavedConfigs& known, RunState& run, ProblemResult& result) {
  FATUNE_TRY(const KernelSpaces built, build_spaces(run.kernels, run.environment.limits, result));
  const bool had_finals = !run.journal.finals(result.problem.problem).empty();
  if (run.options.finals_only || had_finals || run.is_over()) {
    take_journalled(known, built.spaces, run, result);
    return {};
  }
  FATUNE_TRY_STATUS(settle_barred(built.barred, run, result));
  return search_spaces(known, built.spaces, run, result);
}

/// Runs all but the final phase. An interrupt sets `run.interrupted`.
Result<ProblemResult> search_problem(const NamedProblem& problem, const SavedConfigs& known,
                                     RunState& run) {
  ProblemResult result;
  result.problem = problem;
  if (const auto span = run.journal.span(problem.problem);
      span && (span->has_begin || run.evaluator == nullptr))
    run.clock.rewind(span->begin_s);
  const double began_s = run.clock.spent();
  run.began_s = run.clock.now();
  run.progress.begin_problem(label(problem), run.clock.now());
  FATUNE_TRY_STATUS(unless_interrupted(search(known, run, result), run));
  result.seconds = run.clock.spent() - began_s;
  return result;
}

Result<ProblemResult> search_and_settle(const NamedProblem& problem, const SavedConfigs& known,
                                        RunState& run) {
  FATUNE_TRY(ProblemResult result, search_problem(problem, known, run));
  FATUNE_TRY_STATUS(settle_problem(run, result));
  return result;
}

}  // namespace

Result<ProblemResult> sweep_problem(const NamedProblem& problem, const SavedConfigs& known,
                                    RunState& run) {
  auto swept = search_and_settle(problem, known, run);
  if (swept || run.plan.problems.size() == 1 || !is_of_problem(swept.error())) return swept;
  ProblemResult left_out;
  left_out.problem = problem;
  left_out.left_out = {swept.error().message};
  if (run.evaluator != nullptr)
    log::warn("left out: " + label(problem) + ": " + left_out.why_not_tried());
  return left_out;
}

}  // namespace fatune
