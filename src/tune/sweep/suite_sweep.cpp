// suite_sweep.cpp - searches, races and final phases of a suite whose problems share configs.
#include "tune/sweep/suite_sweep.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/text.hpp"
#include "search/strategies/portfolio.hpp"
#include "tune/sweep/standing.hpp"
#include "tune/sweep/warm_start.hpp"

namespace fatune {
namespace {

// Chosen: a config that loses by a quarter on one problem would have to win back more elsewhere
// than the fastest configs of one problem usually differ on another.
constexpr double kClearLoss = 1.25;
constexpr std::size_t kEntrants = 16;  // of the searched problem, for one config; chosen
constexpr std::size_t kOfEach = 4;     // of each problem, for several; chosen
constexpr std::size_t kElites = 3;
constexpr double kRegression = 1.1;      // against the default config
constexpr std::size_t kRegressions = 2;  // problems with one that turn a config down

/// A config on its way through the suite, with its time on each problem.
struct Runner {
  Entrant entrant;
  std::vector<std::optional<double>> costs;
  std::string turned_down = {};
};

std::string name_or_sizes(const NamedProblem& named) {
  return named.name.empty() ? describe(named.problem) : named.name;
}

bool same(const Entrant& a, const Entrant& b) {
  return a.kernel == b.kernel && a.config == b.config;
}

const CandidateRecord* find_record(const ProblemResult& result, const Entrant& entrant) {
  const auto found = std::find_if(
      result.candidates.begin(), result.candidates.end(), [&](const CandidateRecord& record) {
        return record.kernel == entrant.kernel && record.config == entrant.config;
      });
  return found == result.candidates.end() ? nullptr : &*found;
}

/// Its time; a duplicate has that of its original. Empty when it failed or was cut short.
std::optional<double> cost_on(const ProblemResult& result, const Entrant& entrant,
                              const std::string& objective) {
  const CandidateRecord* record = find_record(result, entrant);
  if (record == nullptr) return std::nullopt;
  const auto& timing = objective_timing(*record, objective);
  const bool counts =
      record->outcome == Outcome::kMeasured || record->outcome == Outcome::kDuplicate;
  if (!counts || !timing || timing->killed_early) return std::nullopt;
  return timing->median_us;
}

/// Those measured on a problem that are no clear loss there, fastest first.
std::vector<Entrant> fastest_of(const ProblemResult& result, const std::string& objective,
                                std::size_t count) {
  std::vector<std::pair<double, Entrant>> ranked;
  for (const CandidateRecord& record : result.candidates) {
    const auto& timing = objective_timing(record, objective);
    if (record.outcome == Outcome::kMeasured && timing)
      ranked.push_back({timing->median_us, {record.kernel, record.config}});
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Entrant> fastest;
  for (const auto& [cost, entrant] : ranked) {
    if (fastest.size() == count || cost > kClearLoss * ranked.front().first) break;
    fastest.push_back(entrant);
  }
  return fastest;
}

class SuiteSweep {
 public:
  SuiteSweep(const MakeRequest& make_request, RunState& run, SweepResult& result)
      : make_request_(make_request), run_(run), result_(result), problems_(result.plan.problems) {}

  Status run(const std::function<Status()>& saved) {
    order_ = by_information(problems_);
    results_.resize(problems_.size());
    FATUNE_TRY_STATUS(single() ? search_and_race() : search_and_cross());
    result_.choice = SuiteChoice();
    for (const std::size_t p : order_) result_.choice->order.push_back(name_or_sizes(problems_[p]));
    if (!run_.interrupted) FATUNE_TRY_STATUS(run_finals(saved));
    for (std::size_t p = result_.problems.size(); p < results_.size(); ++p) {
      results_[p].problem = problems_[p];
      result_.problems.push_back(std::move(results_[p]));
    }
    return {};
  }

 private:
  bool single() const { return result_.plan.configs == 1; }

  /// A config for all: one search, then fewer and fewer on problem after problem.
  Status search_and_race() {
    const std::size_t first = order_.front();
    FATUNE_TRY(results_[first], search_problem(make_request_(problems_[first]), run_));
    enter(fastest_of(results_[first], run_.objective, kEntrants));
    enter_defaults();
    fill_costs(first);
    turn_down_losers(first);  // default configs: the others are fast there
    for (std::size_t i = 1; i < order_.size() && !run_.interrupted; ++i) {
      FATUNE_TRY_STATUS(race(order_[i]));
      turn_down_losers(order_[i]);
    }
    return {};
  }

  /// Several configs: the fastest of every problem on all problems.
  Status search_and_cross() {
    for (std::size_t p = 0; p < problems_.size() && !run_.interrupted; ++p) {
      FATUNE_TRY(results_[p], search_problem(make_request_(problems_[p]), run_));
      enter(fastest_of(results_[p], run_.objective, kOfEach));
    }
    enter_defaults();
    for (std::size_t p = 0; p < problems_.size() && !run_.interrupted; ++p) {
      FATUNE_TRY_STATUS(race(p));
    }
    return {};
  }

  void enter(const std::vector<Entrant>& entrants) {
    for (const Entrant& entrant : entrants) {
      const bool again = std::any_of(runners_.begin(), runners_.end(), [&](const Runner& other) {
        return same(other.entrant, entrant);
      });
      if (!again)
        runners_.push_back({entrant, std::vector<std::optional<double>>(problems_.size())});
    }
  }

  /// What speed-ups are relative to.
  void enter_defaults() {
    for (const KernelRef& kernel : run_.kernels) {
      const std::string& name = kernel->manifest.name;
      const bool runs = std::any_of(runners_.begin(), runners_.end(), [&](const Runner& runner) {
        return runner.entrant.kernel == name;
      });
      if (!runs) continue;
      defaults_.push_back({name, to_json(default_config(kernel->manifest))});
      enter({defaults_.back()});
    }
  }

  bool is_default(const Entrant& entrant) const {
    return std::any_of(defaults_.begin(), defaults_.end(),
                       [&](const Entrant& each) { return same(each, entrant); });
  }

  /// Measures those still in the race; default configs stay in it for comparison.
  Status race(std::size_t problem) {
    std::vector<Entrant> entrants;
    for (const Runner& runner : runners_) {
      if (runner.turned_down.empty() || is_default(runner.entrant))
        entrants.push_back(runner.entrant);
    }
    const ProblemRequest request = make_request_(problems_[problem]);
    FATUNE_TRY_STATUS(race_problem(request, entrants, run_, results_[problem]));
    fill_costs(problem);
    return {};
  }

  void fill_costs(std::size_t problem) {
    for (Runner& runner : runners_)
      runner.costs[problem] = cost_on(results_[problem], runner.entrant, run_.objective);
  }

  void turn_down_losers(std::size_t problem) {
    double best = std::numeric_limits<double>::infinity();
    for (const Runner& runner : runners_) {
      if (runner.turned_down.empty() && runner.costs[problem])
        best = std::min(best, *runner.costs[problem]);
    }
    for (Runner& runner : runners_) {
      if (!runner.turned_down.empty()) continue;
      const auto& cost = runner.costs[problem];
      if (!cost) {
        runner.turned_down =
            "not measured on " + name_or_sizes(problems_[problem]) + why_not(problem, runner);
      } else if (*cost > kClearLoss * best) {
        runner.turned_down = "clear loss on " + name_or_sizes(problems_[problem]) + ": " +
                             fixed(*cost / best, 2) + " times the best there";
      }
    }
  }

  std::string why_not(std::size_t problem, const Runner& runner) const {
    const CandidateRecord* record = find_record(results_[problem], runner.entrant);
    return record == nullptr ? ": no valid config there"
                             : ": " + std::string(name(record->outcome));
  }

  const Runner* default_of(const Runner& runner) const {
    const auto found = std::find_if(runners_.begin(), runners_.end(), [&](const Runner& other) {
      return other.entrant.kernel == runner.entrant.kernel && is_default(other.entrant);
    });
    return found == runners_.end() ? nullptr : &*found;
  }

  std::optional<double> speedup_of(const Runner& runner) const {
    const Runner* usual = default_of(runner);
    if (usual == nullptr) return std::nullopt;
    double log_sum = 0;
    int compared = 0;
    for (std::size_t p = 0; p < problems_.size(); ++p) {
      if (!runner.costs[p] || !usual->costs[p]) continue;
      log_sum += std::log(*usual->costs[p] / *runner.costs[p]);
      ++compared;
    }
    return compared == 0 ? std::nullopt : std::optional(std::exp(log_sum / compared));
  }

  void turn_down_regressions() {
    for (Runner& runner : runners_) {
      const Runner* usual = default_of(runner);
      if (!runner.turned_down.empty() || usual == nullptr) continue;
      std::vector<std::string> slower;
      for (std::size_t p = 0; p < problems_.size(); ++p) {
        const bool both = runner.costs[p] && usual->costs[p];
        if (both && *runner.costs[p] > kRegression * *usual->costs[p])
          slower.push_back(name_or_sizes(problems_[p]));
      }
      if (slower.size() < kRegressions) continue;
      runner.turned_down = "more than 10 % slower than the default config on " + join(slower, ", ");
    }
  }

  /// All were measured on all problems: the geomean speed-up over anything orders them as the
  /// geomean time does.
  std::vector<const Runner*> elites() {
    turn_down_regressions();
    std::vector<std::pair<double, const Runner*>> ranked;
    for (const Runner& runner : runners_) {
      if (!runner.turned_down.empty()) continue;
      double log_sum = 0;
      for (const auto& cost : runner.costs) log_sum += cost ? std::log(*cost) : 0;
      ranked.emplace_back(log_sum, &runner);
    }
    std::stable_sort(ranked.begin(), ranked.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<const Runner*> chosen;
    for (const auto& [cost, runner] : ranked) {
      if (chosen.size() < kElites) chosen.push_back(runner);
    }
    return chosen;
  }

  std::vector<const Runner*> portfolio() const {
    std::vector<PortfolioConfig> configs;
    for (const Runner& runner : runners_) {
      configs.push_back(
          {runner.entrant.kernel + " " + describe_config(runner.entrant.config), runner.costs});
    }
    std::vector<const Runner*> chosen;
    for (const Portfolio::Choice& choice :
         choose_portfolio(configs, static_cast<std::size_t>(result_.plan.configs)).chosen) {
      chosen.push_back(&runners_[choice.config]);
    }
    return chosen;
  }

  Status run_finals(const std::function<Status()>& saved) {
    const std::vector<const Runner*> chosen = single() ? elites() : portfolio();
    std::vector<Entrant> entrants;
    for (const Runner* runner : chosen) entrants.push_back(runner->entrant);
    for (std::size_t p = 0; p < problems_.size() && !run_.interrupted; ++p) {
      ProblemRequest request = make_request_(problems_[p]);
      request.only = &entrants;
      FATUNE_TRY_STATUS(settle_problem(request, run_, results_[p]));
      result_.problems.push_back(results_[p]);
      result_.seconds = run_.clock.now();
      FATUNE_TRY_STATUS(saved());
    }
    if (run_.interrupted) return {};
    note_choice(chosen, single() ? winner_of(chosen) : nullptr);
    return saved();
  }

  /// The elite with the least geomean time in the final phases.
  const Runner* winner_of(const std::vector<const Runner*>& elites) const {
    const Runner* winner = nullptr;
    double least = std::numeric_limits<double>::infinity();
    for (const Runner* elite : elites) {
      double log_sum = 0;
      for (const ProblemResult& problem : result_.problems) {
        const FinalRecord* row = final_of(problem, elite->entrant);
        const bool measured = row != nullptr && objective_timing(*row, run_.objective);
        log_sum += measured ? std::log(objective_timing(*row, run_.objective)->median_us)
                            : std::numeric_limits<double>::infinity();
      }
      if (log_sum >= least) continue;
      least = log_sum;
      winner = elite;
    }
    return winner;
  }

  static const FinalRecord* final_of(const ProblemResult& problem, const Entrant& entrant) {
    for (const FinalRecord& row : problem.finals) {
      const bool is = row.role != "baseline" && row.kernel == entrant.kernel &&
                      row.config == entrant.config && row.outcome == Outcome::kMeasured;
      if (is) return &row;
    }
    return nullptr;
  }

  /// Records the choice; a single winner is the best of every problem, whatever its rivals' times
  /// are there.
  void note_choice(const std::vector<const Runner*>& chosen, const Runner* winner) {
    for (ProblemResult& problem : result_.problems) {
      const FinalRecord* row = winner == nullptr ? nullptr : final_of(problem, winner->entrant);
      if (row == nullptr) continue;
      Scoring scoring;
      scoring.winner = row->id;
      settle_finals(problem, run_.objective, result_.plan.seed, scoring);
    }
    std::vector<SuiteConfig>& configs = result_.choice->configs;
    for (const Runner* runner : chosen) {
      SuiteConfig config = describe_runner(*runner);
      if (winner != nullptr && runner != winner)
        config.turned_down = "a greater geomean time in the final phases";
      configs.push_back(std::move(config));
    }
    std::stable_partition(configs.begin(), configs.end(),
                          [](const SuiteConfig& config) { return config.turned_down.empty(); });
    for (const Runner& runner : runners_) {
      if (!runner.turned_down.empty()) configs.push_back(describe_runner(runner));
    }
  }

  SuiteConfig describe_runner(const Runner& runner) const {
    SuiteConfig config{
        runner.entrant.kernel, runner.entrant.config, speedup_of(runner), {}, runner.turned_down};
    for (const ProblemResult& problem : result_.problems) {
      const FinalRecord* best = problem.best();
      const bool its = best != nullptr && best->kernel == runner.entrant.kernel &&
                       best->config == runner.entrant.config;
      if (its) config.problems.push_back(name_or_sizes(problem.problem));
    }
    return config;
  }

  const MakeRequest& make_request_;
  RunState& run_;
  SweepResult& result_;
  const std::vector<NamedProblem>& problems_;
  std::vector<std::size_t> order_;
  std::vector<ProblemResult> results_;  ///< by problem
  std::vector<Runner> runners_;
  std::vector<Entrant> defaults_;
};

}  // namespace

std::vector<std::size_t> by_information(const std::vector<NamedProblem>& problems) {
  const auto away = [&](std::size_t a, std::size_t b) {
    return distance(problems[a].problem, {}, problems[b].problem, {});
  };
  std::vector<std::size_t> left(problems.size()), order;
  for (std::size_t i = 0; i < left.size(); ++i) left[i] = i;
  while (!left.empty()) {
    std::size_t chosen = 0;
    double highest = -std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < left.size(); ++i) {
      double value = order.empty() ? 0 : std::numeric_limits<double>::infinity();
      if (order.empty()) {
        for (const std::size_t other : left) value -= away(left[i], other);
      } else {
        for (const std::size_t done : order) value = std::min(value, away(left[i], done));
      }
      if (value <= highest) continue;
      highest = value;
      chosen = i;
    }
    order.push_back(left[chosen]);
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(chosen));
  }
  return order;
}

Status sweep_suite(const MakeRequest& make_request, RunState& run, SweepResult& result,
                   const std::function<Status()>& saved) {
  return SuiteSweep(make_request, run, result).run(saved);
}

}  // namespace fatune
