// sweep_result.hpp: Defines a sweep's result: candidates, finalists and their ranking by problem.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/results/fleet_timeline.hpp"
#include "model/results/journal.hpp"
#include "model/results/measurement.hpp"
#include "model/results/record.hpp"
#include "model/space/space.hpp"

namespace fatune {

/// A ratio of two times with its bootstrap 95 % interval; below 1 the numerator is faster.
struct Ratio {
  double value = 0, low = 0, high = 0;
};
void fields(Ratio& x, FieldList& f);

/// Ranking of a contestant in the final phase.
struct Standing {
  std::optional<Ratio> to_baseline;  ///< time over the baseline's; empty if one time is missing
  std::string verdict;               ///< verdict on the ratio: "Excellent", ...
  bool ties_with_best = false;       ///< the interval of its time over the best's contains 1
  std::optional<double> score;       ///< composite, under the objective "score"
};

/// A gain below 5 % is not worth another kernel.
inline constexpr double kGateThreshold = 0.95;

/// Decision whether the best is certainly faster than the baseline.
struct Gate {
  std::string baseline;
  Ratio ratio;
  double threshold = kGateThreshold;
  bool passed = false;            ///< the whole interval is below the threshold
  std::optional<Time> time = {};  ///< of the ratio
};
void fields(Gate& x, FieldList& f);

/// Result of one problem: everything that best.json and the tables need.
struct ProblemResult {
  NamedProblem problem;
  /// Sorted: the best first, the others by time, failed ones last.
  std::vector<FinalRecord> finals;
  std::vector<Standing> standings;          ///< for `finals`, in this order
  std::optional<Gate> gate;                 ///< finals.front() against the baseline
  std::string score_note;                   ///< inputs that "score" lacks
  std::vector<CandidateRecord> candidates;  ///< in order, resumed ones included
  std::map<Outcome, std::uint64_t> outcomes;
  /// Reasons for configs refused before compilation; with several kernels the kernel's name is the
  /// prefix, "fa_mma: ".
  std::vector<RuledOut> ruled_out;
  std::vector<SavedConfig> warm_starts;  ///< starts of the searches, kernel by kernel
  std::vector<std::string> left_out;     ///< "fa_rows: why": kernels that cannot solve this problem
  std::uint64_t raw_points = 0, valid_points = 0;
  double seconds = 0;
  double gpu_waited_s = 0;  ///< device idle because of compilation

  /// finals.front() if it passed every gate and is a candidate, not a baseline.
  const FinalRecord* best() const;
  /// Warm start with the best's config; null: the search found the config.
  const SavedConfig* known_best() const;
  /// Why the problem was left out of a run of several; empty if a kernel was tried.
  std::string why_not_tried() const;
};

struct SweepResult {
  RunPlan plan;
  Environment environment;
  std::vector<Environment> helpers = {};    ///< other devices that measured candidates
  std::optional<RankCensus> ranks = {};     ///< of mpirun or srun
  std::optional<FleetTimeline> fleet = {};  ///< for a run on several devices
  std::vector<ProblemResult> problems;
  std::filesystem::path folder;
  bool interrupted = false;
  double seconds = 0;
};

/// State of a running sweep, for a progress display.
struct SweepProgress {
  std::string problem;  ///< "mission 4,8,512,64 f16"
  std::size_t problem_number = 1, problems = 1;
  std::string phase;                ///< "search", "final"
  std::uint64_t done = 0, all = 0;  ///< candidates
  std::map<Outcome, std::uint64_t> outcomes;
  bool has_best = true;  ///< false if nothing is timed
  std::optional<double> best_us;
  std::string best_config;  ///< kernel and config
  /// Best time after each candidate, from the first success on.
  std::vector<double> best_history_us;
  double elapsed_s = 0;
  std::optional<double> left_s;
  std::string activity;  ///< activity of the evaluator: "compiling", ...
};

/// Tells whether the record can be compared by this time: enough rounds must be steady. A saved row
/// has no rounds; its median is enough.
bool has_time(const FinalRecord& record, Time time);
/// Returns the time that ranks the finals: the first of ranking_times() that every correct
/// candidate and the fastest baseline have, else the last. Recordings, machines without cuBLASLt,
/// custom operations and slow backends have no times in a layer.
Time final_time(const std::vector<FinalRecord>& finals, Objective objective = Objective::kInLayer);

}  // namespace fatune
