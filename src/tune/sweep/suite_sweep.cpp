// suite_sweep.cpp - searches, races and final phases of a suite whose problems share configs.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "core/log.hpp"
#include "core/text.hpp"
#include "model/results/statistics.hpp"
#include "search/strategies/portfolio.hpp"
#include "tune/sweep/finals.hpp"
#include "tune/sweep/problem_sweep.hpp"
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

std::string name_or_sizes(const NamedProblem& named) {
  return named.name.empty() ? describe(named.problem) : named.name;
}

bool is_among(const SavedConfig& config, const auto& others) {
  return std::ranges::any_of(others, [&](const auto& each) { return same_config(each, config); });
}

const CandidateRecord* find_record(const ProblemResult& result, const SavedConfig& entrant) {
  const auto found = std::ranges::find_if(
      result.candidates, [&](const auto& record) { return same_config(record, entrant); });
  return found == result.candidates.end() ? nullptr : &*found;
}

/// Its time; a duplicate has that of its original. Empty when it failed or was cut short.
std::optional<double> cost_on(const ProblemResult& result, const SavedConfig& entrant,
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
std::vector<SavedConfig> fastest_of(const ProblemResult& result, const std::string& objective,
                                    std::size_t count) {
  std::vector<std::pair<double, SavedConfig>> ranked;
  for (const CandidateRecord& record : result.candidates) {
    const auto& timing = objective_timing(record, objective);
    if (record.outcome == Outcome::kMeasured && timing)
      ranked.push_back({timing->median_us, {record.kernel, record.config}});
  }
  std::ranges::stable_sort(ranked, {}, [](const auto& each) { return each.first; });
  std::vector<SavedConfig> fastest;
  for (const auto& [cost, entrant] : ranked) {
    if (fastest.size() == count || cost > kClearLoss * ranked.front().first) break;
    fastest.push_back(entrant);
  }
  return fastest;
}

class SuiteSweep {
 public:
  SuiteSweep(RunState& run, SweepResult& result)
      : run_(run), result_(result), problems_(result.plan.problems) {}

  Status run(const std::function<Status()>& saved) {
    order_ = by_information(problems_);
    results_.resize(problems_.size());
    FATUNE_TRY_STATUS(single() ? search_and_race() : search_and_cross());
    result_.choice = SuiteChoice();
    for (const std::size_t p : order_) result_.choice->order.push_back(name_or_sizes(problems_[p]));
    share_warm_starts();
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
    FATUNE_TRY(results_[first], search_problem(problems_[first], run_.plan.warm_starts, run_));
    enter(fastest_of(results_[first], run_.plan.objective, kEntrants));
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
      FATUNE_TRY(results_[p], search_problem(problems_[p], run_.plan.warm_starts, run_));
      enter(fastest_of(results_[p], run_.plan.objective, kOfEach));
    }
    enter_defaults();
    for (std::size_t p = 0; p < problems_.size() && !run_.interrupted; ++p) {
      FATUNE_TRY_STATUS(race(p));
    }
    return {};
  }

  /// Entrants of every problem's search race on all problems.
  void share_warm_starts() {
    std::vector<SavedConfig> all;
    for (const ProblemResult& each : results_) {
      for (const SavedConfig& start : each.warm_starts) {
        if (!is_among(start, all)) all.push_back(start);
      }
    }
    for (ProblemResult& each : results_) each.warm_starts = all;
  }

  void enter(const std::vector<SavedConfig>& entrants) {
    for (const SavedConfig& entrant : entrants) {
      if (!is_among(entrant, entries_))
        entries_.push_back({entrant, std::vector<std::optional<double>>(problems_.size())});
    }
  }

  /// What speed-ups are relative to.
  void enter_defaults() {
    for (const KernelRef& kernel : run_.kernels) {
      const std::string& name = kernel->manifest.name;
      if (std::ranges::count(entries_, name, &SuiteEntry::kernel) == 0) continue;
      defaults_.push_back({name, to_json(default_config(kernel->manifest))});
      enter({defaults_.back()});
    }
  }

  bool is_default(const SavedConfig& entrant) const { return is_among(entrant, defaults_); }

  /// Measures those still in the race; default configs stay in it for comparison.
  Status race(std::size_t problem) {
    std::vector<SavedConfig> entrants;
    for (const SuiteEntry& entry : entries_) {
      if (entry.turned_down.empty() || is_default(entry)) entrants.push_back(entry);
    }
    FATUNE_TRY_STATUS(race_problem(problems_[problem], entrants, run_, results_[problem]));
    fill_costs(problem);
    return {};
  }

  void fill_costs(std::size_t problem) {
    for (SuiteEntry& entry : entries_)
      entry.costs[problem] = cost_on(results_[problem], entry, run_.plan.objective);
  }

  void turn_down_losers(std::size_t problem) {
    double best = std::numeric_limits<double>::infinity();
    for (const SuiteEntry& entry : entries_) {
      if (entry.turned_down.empty() && entry.costs[problem])
        best = std::min(best, *entry.costs[problem]);
    }
    for (SuiteEntry& entry : entries_) {
      if (!entry.turned_down.empty()) continue;
      const auto& cost = entry.costs[problem];
      if (!cost) {
        entry.turned_down =
            "not measured on " + name_or_sizes(problems_[problem]) + why_not(problem, entry);
      } else if (*cost > kClearLoss * best) {
        entry.turned_down = "clear loss on " + name_or_sizes(problems_[problem]) + ": " +
                            fixed(*cost / best, 2) + " times the best there";
      }
    }
  }

  std::string why_not(std::size_t problem, const SuiteEntry& entry) const {
    const CandidateRecord* record = find_record(results_[problem], entry);
    return record == nullptr ? ": no valid config there"
                             : ": " + std::string(name(record->outcome));
  }

  const SuiteEntry* default_of(const SuiteEntry& entry) const {
    const auto found = std::ranges::find_if(entries_, [&](const SuiteEntry& other) {
      return other.kernel == entry.kernel && is_default(other);
    });
    return found == entries_.end() ? nullptr : &*found;
  }

  std::optional<double> speedup_of(const SuiteEntry& entry) const {
    const SuiteEntry* usual = default_of(entry);
    if (usual == nullptr) return std::nullopt;
    std::vector<double> speedups;
    for (std::size_t p = 0; p < problems_.size(); ++p) {
      if (entry.costs[p] && usual->costs[p]) speedups.push_back(*usual->costs[p] / *entry.costs[p]);
    }
    return geomean(speedups);
  }

  void turn_down_regressions() {
    for (SuiteEntry& entry : entries_) {
      const SuiteEntry* usual = default_of(entry);
      if (!entry.turned_down.empty() || usual == nullptr) continue;
      std::vector<std::string> slower;
      for (std::size_t p = 0; p < problems_.size(); ++p) {
        const bool both = entry.costs[p] && usual->costs[p];
        if (both && *entry.costs[p] > kRegression * *usual->costs[p])
          slower.push_back(name_or_sizes(problems_[p]));
      }
      if (slower.size() < kRegressions) continue;
      entry.turned_down = "more than 10 % slower than the default config on " + join(slower, ", ");
    }
  }

  /// All were measured on all problems: the geomean speed-up over anything orders them as the
  /// geomean time does.
  std::vector<const SuiteEntry*> elites() {
    turn_down_regressions();
    std::vector<std::pair<double, const SuiteEntry*>> ranked;
    for (const SuiteEntry& entry : entries_) {
      if (!entry.turned_down.empty()) continue;
      double log_sum = 0;
      for (const auto& cost : entry.costs) log_sum += cost ? std::log(*cost) : 0;
      ranked.emplace_back(log_sum, &entry);
    }
    std::ranges::stable_sort(ranked, {}, [](const auto& each) { return each.first; });
    std::vector<const SuiteEntry*> chosen;
    for (const auto& [cost, entry] : ranked) {
      if (chosen.size() < kElites) chosen.push_back(entry);
    }
    return chosen;
  }

  std::vector<const SuiteEntry*> portfolio() const {
    std::vector<const SuiteEntry*> chosen;
    for (const Portfolio::Choice& choice :
         choose_portfolio(entries_, static_cast<std::size_t>(result_.plan.configs)).chosen) {
      chosen.push_back(&entries_[choice.config]);
    }
    return chosen;
  }

  Status run_finals(const std::function<Status()>& saved) {
    const std::vector<const SuiteEntry*> chosen = single() ? elites() : portfolio();
    std::vector<SavedConfig> entrants;
    for (const SuiteEntry* entry : chosen) entrants.push_back(*entry);
    for (std::size_t p = 0; p < problems_.size() && !run_.interrupted; ++p) {
      FATUNE_TRY_STATUS(settle_problem(&entrants, run_, results_[p]));
      result_.problems.push_back(results_[p]);
      result_.seconds = run_.clock.now();
      FATUNE_TRY_STATUS(saved());
    }
    if (run_.interrupted) return {};
    const SuiteEntry* winner = single() ? winner_of(chosen) : nullptr;
    if (single() && winner == nullptr)
      log::warn(
          "no config of those chosen is right at every problem of the suite: each has its own");
    note_choice(chosen, winner);
    return {};
  }

  /// The elite with the least geomean time in the final phases.
  const SuiteEntry* winner_of(const std::vector<const SuiteEntry*>& elites) const {
    const SuiteEntry* winner = nullptr;
    double least = std::numeric_limits<double>::infinity();
    for (const SuiteEntry* elite : elites) {
      double log_sum = 0;
      for (const ProblemResult& problem : result_.problems) {
        const FinalRecord* row = final_of(problem, *elite);
        const std::string time = final_time(problem.finals, run_.plan.objective);
        const bool measured = row != nullptr && timing_of(*row, time);
        log_sum += measured ? std::log(timing_of(*row, time)->median_us)
                            : std::numeric_limits<double>::infinity();
      }
      if (log_sum >= least) continue;
      least = log_sum;
      winner = elite;
    }
    return winner;
  }

  static const FinalRecord* final_of(const ProblemResult& problem, const SavedConfig& entrant) {
    for (const FinalRecord& row : problem.finals) {
      if (row.is_candidate() && same_config(row, entrant)) return &row;
    }
    return nullptr;
  }

  /// Records the choice; a single winner is the best of every problem, whatever its rivals' times
  /// are there.
  void note_choice(const std::vector<const SuiteEntry*>& chosen, const SuiteEntry* winner) {
    for (ProblemResult& problem : result_.problems) {
      const FinalRecord* row = winner == nullptr ? nullptr : final_of(problem, *winner);
      if (row == nullptr) continue;
      Scoring scoring;
      scoring.winner = row->id;
      settle_finals(problem, run_.plan.objective, result_.plan.seed, scoring);
    }
    std::vector<SuiteEntry>& configs = result_.choice->configs;
    for (const SuiteEntry* entry : chosen) {
      SuiteEntry config = with_merits(*entry);
      if (single() && entry != winner) config.turned_down = why_not(*entry);
      configs.push_back(std::move(config));
    }
    std::stable_partition(configs.begin(), configs.end(),
                          [](const SuiteEntry& config) { return config.turned_down.empty(); });
    for (const SuiteEntry& entry : entries_) {
      if (!entry.turned_down.empty()) configs.push_back(with_merits(entry));
    }
  }

  /// Of an elite that is not the winner.
  std::string why_not(const SuiteEntry& elite) const {
    for (const ProblemResult& problem : result_.problems) {
      if (final_of(problem, elite) != nullptr) continue;
      const auto row = std::ranges::find_if(
          problem.finals, [&](const FinalRecord& each) { return same_config(each, elite); });
      const std::string reason = row == problem.finals.end() ? "not measured" : row->reason;
      return fmt::format("fails in the final phase at {}: {}", name_or_sizes(problem.problem),
                         reason);
    }
    return "a greater geomean time in the final phases";
  }

  SuiteEntry with_merits(SuiteEntry entry) const {
    entry.speedup = speedup_of(entry);
    for (const ProblemResult& problem : result_.problems) {
      const FinalRecord* best = problem.best();
      if (best != nullptr && same_config(*best, entry))
        entry.problems.push_back(name_or_sizes(problem.problem));
    }
    return entry;
  }

  RunState& run_;
  SweepResult& result_;
  const std::vector<NamedProblem>& problems_;
  std::vector<std::size_t> order_;
  std::vector<ProblemResult> results_;  ///< by problem
  std::vector<SuiteEntry> entries_;
  std::vector<SavedConfig> defaults_;
};

}  // namespace

std::vector<std::size_t> by_information(const std::vector<NamedProblem>& problems) {
  const auto away = [&](std::size_t a, std::size_t b) {
    return distance(problems[a].problem, {}, problems[b].problem, {});
  };
  std::vector<std::size_t> left(problems.size()), order;
  std::iota(left.begin(), left.end(), 0);
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

Status sweep_suite(RunState& run, SweepResult& result, const std::function<Status()>& saved) {
  return SuiteSweep(run, result).run(saved);
}

}  // namespace fatune
