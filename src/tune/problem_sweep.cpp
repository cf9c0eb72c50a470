// problem_sweep.cpp - searches a problem's spaces one after the other, then lets the best compete.
#include "tune/problem_sweep.hpp"

#include <algorithm>
#include <limits>
#include <memory>

#include "base/text.hpp"
#include "tune/budget.hpp"
#include "tune/finals.hpp"
#include "tune/search_loop.hpp"
#include "tune/standing.hpp"

namespace fatune {
namespace {

/// "no valid config: BLOCK_M % 64 == 0 (each warp owns 16 whole rows) excludes 12; ..."
std::string describe_empty(const Space& space) {
  std::vector<std::string> rules;
  for (const RuledOut& rule : space.ruled_out()) {
    if (rule.points == 0) continue;
    rules.push_back(rule.rule + " excludes " + std::to_string(rule.points) + " (" + rule.why + ")");
  }
  return "no valid config of " + std::to_string(space.raw_size()) + ": " + join(rules, "; ");
}

void add_ruled_out(const Space& space, bool several_kernels, ProblemResult& result) {
  const std::string prefix = several_kernels ? space.kernel().manifest.name + ": " : "";
  for (RuledOut rule : space.ruled_out()) {
    if (rule.points == 0) continue;
    rule.why = prefix + rule.why;
    result.ruled_out.push_back(std::move(rule));
  }
}

/// The default config, and what was best for this kernel before.
std::vector<Point> start_points(const Space& space, const ProblemRequest& request) {
  std::vector<Point> start;
  if (const auto usual = space.default_point()) start.push_back(*usual);
  const Manifest& manifest = space.kernel().manifest;
  const auto known = request.known_good.find(manifest.name);
  if (known == request.known_good.end()) return start;
  for (const Json& json : known->second) {
    const auto config = config_from_json(manifest, json, "an earlier best config");
    if (!config) continue;
    if (auto point = space.point_of(*config)) start.push_back(*std::move(point));
  }
  return start;
}

/// One kernel's search, which can go on where its trial ended.
struct KernelSearch {
  std::string kernel;
  std::unique_ptr<Strategy> strategy;
  std::unique_ptr<SearchLoop> loop;
  std::uint64_t used = 0;
};

Result<KernelSearch> start_search(const ProblemRequest& request, const Space& space,
                                  std::uint64_t budget, RunState& run, ProblemResult& result) {
  StrategyOptions options;
  options.seed = request.plan.seed;
  options.budget = budget == kUnlimited ? 0 : budget;
  options.start = start_points(space, request);
  KernelSearch search;
  search.kernel = space.kernel().manifest.name;
  FATUNE_TRY(search.strategy, make_strategy(request.plan.strategy, space, options));
  search.loop = std::make_unique<SearchLoop>(run, result, space, *search.strategy);
  return search;
}

/// Lets a search use a share more.
Status go_on(KernelSearch& search, Share share, Budget& budget) {
  if (share.evaluations != kUnlimited) share.evaluations += search.used;
  FATUNE_TRY(const std::uint64_t used, search.loop->run(share));
  budget.use(used - search.used);
  search.used = used;
  return {};
}

double best_of(const KernelSearch& search, const ProblemResult& result,
               const std::string& objective) {
  double best = std::numeric_limits<double>::infinity();
  for (const CandidateRecord& record : result.candidates) {
    const auto& timing = objective_timing(record, objective);
    const bool counts = record.kernel == search.kernel && record.outcome == Outcome::kMeasured;
    if (counts && timing) best = std::min(best, timing->median_us);
  }
  return best;
}

/// Trials of all kernels; then the leader has the rest, and what it cannot use goes to the next.
Status search_spaces(const ProblemRequest& request, const std::vector<Space>& spaces, RunState& run,
                     ProblemResult& result) {
  Budget budget(request.plan, spaces.size(), run.clock.now());
  const std::uint64_t limit = request.plan.budget_evaluations;
  const std::uint64_t all = limit == 0 ? result.valid_points : std::min(limit, result.valid_points);
  run.progress.plan_candidates(all, budget.rest().deadline_s);
  std::vector<KernelSearch> searches;
  for (const Space& space : spaces) {
    if (run.interrupted) return {};
    FATUNE_TRY(KernelSearch search,
               start_search(request, space, budget.rest().evaluations, run, result));
    FATUNE_TRY_STATUS(go_on(search, budget.trial(run.clock.now()), budget));
    searches.push_back(std::move(search));
  }
  std::stable_sort(searches.begin(), searches.end(),
                   [&](const KernelSearch& a, const KernelSearch& b) {
                     return best_of(a, result, run.objective) < best_of(b, result, run.objective);
                   });
  for (KernelSearch& search : searches) {
    if (run.interrupted) return {};
    FATUNE_TRY_STATUS(go_on(search, budget.rest(), budget));
  }
  return {};
}

Status run_finals(const ProblemRequest& request, RunState& run, ProblemResult& result) {
  const Problem& problem = request.problem.problem;
  FinalsRequest wanted{problem,
                       request.kernels,
                       request.reference,
                       run.evaluator.environment().limits,
                       run.objective,
                       request.finalists,
                       {}};
  if (request.baselines) {
    FATUNE_TRY(wanted.baselines, request.baselines(problem));
  }
  FATUNE_TRY(const auto contestants, choose_contestants(wanted, result.candidates));
  if (contestants.empty()) return {};
  run.progress.begin_finals(run.clock.now());
  result.finals = run.known.finals(problem);
  if (!covers(result.finals, contestants)) {
    result.finals.clear();
    FATUNE_TRY_STATUS(run.begin(problem));
    auto finals = run.evaluator.finals(contestants, request.finals);
    run.interrupted = !finals && finals.error().kind == ErrorKind::kInterrupted;
    if (run.interrupted) return {};
    if (!finals) return std::move(finals).error();
    for (const FinalRecord& record : *finals) FATUNE_TRY_STATUS(run.journal.append(record));
    result.finals = *std::move(finals);
  }
  Scoring scoring;
  if (run.objective == kScoreObjective) {
    FATUNE_TRY(const auto uses, count_finalists(result.finals, contestants, request.count_use));
    scoring = score_finals(result.finals, uses);
  }
  settle_finals(result, run.objective, request.finals.seed, scoring);
  return {};
}

/// A kernel without a valid config still gets an outcome: its default config's, which is
/// infeasible.
Status settle_barred(const std::vector<Candidate>& barred, RunState& run, ProblemResult& result) {
  for (const Candidate& candidate : barred) {
    auto record = run.known.find(candidate);
    if (!record) {
      FATUNE_TRY_STATUS(run.begin(candidate.problem));
      FATUNE_TRY_STATUS(run.evaluator.submit(candidate));
      FATUNE_TRY(record, run.evaluator.collect());
      record->at_s = run.clock.now();
      FATUNE_TRY_STATUS(run.journal.append(*record));
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
    return usage_error("no kernel can do " + describe(problem) + " on " + name(limits.arch) +
                       ":\n  " + join(result.left_out, "\n  "));
  }
  std::stable_sort(built.spaces.begin(), built.spaces.end(),
                   [](const Space& a, const Space& b) { return a.size() < b.size(); });
  return built;
}

Result<ProblemResult> sweep_problem(const ProblemRequest& request, RunState& run) {
  ProblemResult result;
  result.problem = request.problem;
  const double began_s = run.clock.now();
  const std::string label = request.problem.name.empty() ? "" : request.problem.name + " ";
  run.progress.begin_problem(label + describe(request.problem.problem), began_s);
  FATUNE_TRY(const KernelSpaces built,
             build_spaces(request.kernels, run.evaluator.environment().limits, result));
  FATUNE_TRY_STATUS(settle_barred(built.barred, run, result));
  FATUNE_TRY_STATUS(search_spaces(request, built.spaces, run, result));
  if (!run.interrupted) FATUNE_TRY_STATUS(run_finals(request, run, result));
  result.seconds = run.clock.now() - began_s;
  return result;
}

}  // namespace fatune
