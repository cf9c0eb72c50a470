// final_phase.cpp: Verifies contestants on the main problem, times them, and proves the winner.
#include "tune/evaluate/final_phase.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/log.hpp"
#include "core/text.hpp"
#include "model/results/sweep_result.hpp"
#include "tune/evaluate/edge_problems.hpp"
#include "tune/evaluate/final_stages.hpp"

namespace fatune {
namespace {

constexpr const char* kNotTheWinner = "checked for the winner alone";
constexpr double kPreciseRatio = 2;  // chosen: ratio of error margins that is worth a note
// Chosen: number of contestants whose edge problems are compiled early, and idle compile processes
// needed for that.
constexpr std::size_t kLikelyWinners = 3, kManyIdle = 8;
// Chosen: relative width of the best's interval beyond which the choice counts as influenced by
// noise.
constexpr double kWide = 0.01;

bool is_noisy(const FinalRecord& record, Time time) {
  const auto& timing = timing_of(record, time);
  if (!timing || !timing->ci95_low_us || !timing->ci95_high_us) return false;
  return *timing->ci95_high_us - *timing->ci95_low_us > kWide * timing->median_us;
}

/// Marks configs whose error margin is far above that of their kernel's default config, because
/// they may compute with less precision.
void note_precision(std::vector<FinalRecord>& records) {
  for (const FinalRecord& usual : records) {
    if (usual.role != RowRole::kDefault || !usual.verification || usual.verification->margin <= 0)
      continue;
    for (FinalRecord& record : records) {
      if (record.kernel != usual.kernel || !record.verification) continue;
      const double ratio = record.verification->margin / usual.verification->margin;
      if (ratio <= kPreciseRatio) continue;
      record.verification->precision_note = "margin " + fixed(record.verification->margin, 2) +
                                            ", the default config's is " +
                                            fixed(usual.verification->margin, 2);
    }
  }
}

class FinalPhase {
 public:
  FinalPhase(const FinalSetting& setting, const Problem& problem, const FinalPlan& plan)
      : setting_(setting), plan_(plan), seed_(setting.run.seed), stages_(setting, problem) {}

  Result<std::vector<FinalRecord>> run(const std::vector<Implementation>& contestants) {
    stages_.add(contestants);
    FATUNE_TRY_STATUS(setting_.worker.prepare({stages_.problem, outside_programs(contestants)}));
    const bool checks = !setting_.run.skip_correctness;
    Places everyone(contestants.size());
    std::iota(everyone.begin(), everyone.end(), 0);
    const Places at_edges = candidates_for_edges();
    // Submits all compilations first. Edge problems compile while contestants are checked and timed
    // on the main problem.
    FATUNE_TRY(Stage main, stages_.request(stages_.problem, main_cases(), everyone));
    if (plan_.secret_inputs) FATUNE_TRY_STATUS(draw_seed(main));
    if (main.builds.empty()) {
      stages_.cancel(main);
      return std::move(stages_.records);
    }
    if (plan_.edge_problems && checks && !at_edges.empty())
      FATUNE_TRY_STATUS(edges_.request(at_edges, seed_));
    FATUNE_TRY_STATUS(contest(main));
    return std::move(stages_.records);
  }

 private:
  /// Picks the fastest contestants of the search for early compilation: one, and more while compile
  /// processes would be idle.
  Places candidates_for_edges() const {
    std::size_t most = stages_.records.size();
    if (plan_.winner) most = setting_.compiler.idle() < kManyIdle ? 1 : kLikelyWinners;
    Places places;
    for (std::size_t i = 0; i < stages_.contenders.size() && places.size() < most; ++i) {
      if (!stages_.contenders[i].is_baseline()) places.push_back(i);
    }
    return places;
  }

  std::vector<InputCase> main_cases() const {
    if (setting_.run.skip_correctness) return search_cases(stages_.problem, seed_);
    return final_cases(*setting_.preparation.reference->manifest.operation, stages_.problem, seed_);
  }

  /// Draws the inputs after all compilations, so that machine code cannot contain the inputs.
  Status draw_seed(Stage& main) {
    FATUNE_TRY_STATUS(stages_.finish_builds(main));
    seed_ = unknown_seed();
    main.pending.order.cases = main_cases();
    return {};
  }

  Status contest(Stage& main) {
    FATUNE_TRY_STATUS(stages_.check(main));
    if (needs_reserves()) FATUNE_TRY_STATUS(call_reserves(main));
    note_precision(stages_.records);
    FATUNE_TRY_STATUS(time_in_rounds(stages_, plan_, stages_.survivors(), false));
    return plan_.winner ? settle_winner(main) : edges_.check_all(candidates_for_edges());
  }

  /// Whether every finalist of the reserves' kernel was refused.
  bool needs_reserves() const {
    if (plan_.reserves.empty()) return false;
    return std::ranges::none_of(stages_.records, [&](const FinalRecord& record) {
      return record.role == RowRole::kFinalist && record.impl == plan_.reserves.front().impl &&
             record.outcome == Outcome::kMeasured;
    });
  }

  Status call_reserves(Stage& main) {
    const std::size_t first = stages_.records.size();
    log::info(
        fmt::format("{}: every finalist of {} was refused; {} that differ from them take part",
                    describe(stages_.problem), plan_.reserves.front().impl, plan_.reserves.size()));
    stages_.add(plan_.reserves);
    for (std::size_t index = first; index < stages_.records.size(); ++index)
      FATUNE_TRY_STATUS(stages_.request_build(index, main));
    return stages_.check_builds(main);
  }

  std::optional<std::size_t> place_of_winner() const {
    const std::string id = plan_.winner(stages_.records);
    const auto winner = std::ranges::find_if(stages_.records, [&](const FinalRecord& record) {
      return record.is_candidate() && record.id == id;
    });
    if (winner == stages_.records.end()) return std::nullopt;
    return static_cast<std::size_t>(winner - stages_.records.begin());
  }

  /// Finds the best contestant that solves the edge problems, with times of rounds that did not
  /// choose it.
  Status settle_winner(Stage& main) {
    std::set<std::size_t> proved;
    do {
      if (const auto winner = noisy_winner()) {
        if (stages_.begun != &main) FATUNE_TRY_STATUS(stages_.begin(main));
        FATUNE_TRY_STATUS(time_again(*winner));
      }
      FATUNE_TRY_STATUS(prove_winner(proved));
    } while (noisy_winner());
    if (const auto winner = place_of_winner()) edges_.note(*winner);
    for (std::size_t index = 0; index < stages_.records.size() && !edges_.empty(); ++index) {
      FinalRecord& record = stages_.records[index];
      if (record.is_candidate() && record.verification && !proved.contains(index))
        record.verification->not_run.push_back(
            fmt::format("{}: {}", name(GateId::kEdgeProblems), kNotTheWinner));
    }
    return {};
  }

  /// Returns the winner if its interval is wide and its present times made it the winner.
  std::optional<std::size_t> noisy_winner() const {
    const auto winner = place_of_winner();
    if (!winner || stages_.records[*winner].timed_again) return std::nullopt;
    const Time time = final_time(stages_.records, setting_.run.objective);
    return is_noisy(stages_.records[*winner], time) ? winner : std::nullopt;
  }

  /// Retimes the best beside the baselines if rounds are noisy, because a maximum of several
  /// similar contestants is biased.
  Status time_again(std::size_t winner) {
    stages_.progress("final, again");
    Places places = stages_.survivors();
    std::erase_if(places, [&](std::size_t index) {
      return index != winner && !stages_.contenders[index].is_baseline();
    });
    return time_in_rounds(stages_, plan_, places, true);
  }

  /// Checks the winner's edge problems. The next contestant continues at the current edge problem,
  /// because references of large problems take longest.
  Status prove_winner(std::set<std::size_t>& proved) {
    while (const auto winner = place_of_winner()) {
      if (proved.insert(*winner).second) FATUNE_TRY_STATUS(edges_.leave_to(*winner));
      if (stages_.begun->builds.empty()) {
        Stage* const next = edges_.next();
        if (next == nullptr) return {};
        FATUNE_TRY_STATUS(stages_.begin(*next));
      }
      const Build build = std::move(stages_.begun->builds.back());
      stages_.begun->builds.pop_back();
      FATUNE_TRY_STATUS(stages_.check_build(build));
    }
    return {};
  }

  const FinalSetting& setting_;
  const FinalPlan& plan_;
  std::uint64_t seed_;  ///< of the inputs
  FinalStages stages_;
  EdgeProblems edges_{stages_};
};

}  // namespace

Result<std::vector<FinalRecord>> run_final_phase(const FinalSetting& setting,
                                                 const Problem& problem, const FinalPlan& plan,
                                                 const std::vector<Implementation>& contestants) {
  return FinalPhase(setting, problem, plan).run(contestants);
}

}  // namespace fatune
