// sweep_result.hpp - what a sweep found: candidates, finalists and their standing, problem by
// problem.
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
#include "model/results/rank_census.hpp"
#include "model/results/record.hpp"
#include "model/space/space.hpp"

namespace fatune {

/// A ratio of two times with its bootstrap 95 % interval; below 1 the first is faster.
struct Ratio {
  double value = 0, low = 0, high = 0;
};
void fields(Ratio& x, FieldList& f);

/// How a contestant of the final phase did against the others.
struct Standing {
  std::optional<Ratio> to_baseline;  ///< time over the baseline's; empty when either has none
  std::string verdict;               ///< "Excellent", ... of that ratio
  bool ties_with_best = false;       ///< the interval of its time over the best's contains 1
  std::optional<double> score;       ///< composite; of candidates under the objective "score"
};

/// A gain below 5 % is not worth another kernel.
inline constexpr double kGateThreshold = 0.95;

/// Is the best faster than the baseline for sure?
struct Gate {
  std::string baseline;
  Ratio ratio;
  double threshold = kGateThreshold;
  bool passed = false;    ///< the whole interval is below the threshold
  std::string time = {};  ///< that the ratio is of: "in_layer", "plain", "hot", "cold"
};
void fields(Gate& x, FieldList& f);

/// One problem's result: everything best.json and the tables need.
struct ProblemResult {
  NamedProblem problem;
  /// Best first, then the others in order of time, failed ones last.
  std::vector<FinalRecord> finals;
  std::vector<Standing> standings;          ///< of finals, in the same order
  std::optional<Gate> gate;                 ///< of finals.front() against the baseline
  std::string score_note;                   ///< under the objective "score": what scores lack
  std::vector<CandidateRecord> candidates;  ///< in the order told, resumed ones included
  std::map<Outcome, std::uint64_t> outcomes;
  /// Before compilation; "fa_mma: " stands before the reason if there are several kernels.
  std::vector<RuledOut> ruled_out;
  std::vector<SavedConfig> warm_starts;  ///< that began the searches, kernel by kernel
  std::vector<std::string> left_out;     ///< "fa_rows: why": kernels that cannot do this problem
  std::uint64_t raw_points = 0, valid_points = 0;
  double seconds = 0;
  double gpu_waited_s = 0;  ///< device idle because of compilation

  /// finals.front() when it passed every gate and is a candidate, not a baseline.
  const FinalRecord* best() const;
  /// The warm start that has the best's config; null: the search found it.
  const SavedConfig* known_best() const;
};

struct SweepResult {
  RunPlan plan;
  Environment environment;
  std::vector<Environment> helpers = {};    ///< other devices that measured candidates
  std::optional<RankCensus> ranks = {};     ///< of mpirun or srun
  std::optional<FleetTimeline> fleet = {};  ///< of a run on several devices
  std::vector<ProblemResult> problems;
  std::filesystem::path folder;
  bool interrupted = false;
  double seconds = 0;
};

/// The state of a running sweep, for a progress display.
struct SweepProgress {
  std::string problem;  ///< "mission 4,8,512,64 f16"
  std::size_t problem_number = 1, problems = 1;
  std::string phase;                ///< "search", "final"
  std::uint64_t done = 0, all = 0;  ///< candidates
  std::map<Outcome, std::uint64_t> outcomes;
  std::optional<double> best_us;
  std::string best_config;  ///< kernel and config
  /// Best time so far after each candidate, from the first success on.
  std::vector<double> best_history_us;
  double elapsed_s = 0;
  std::optional<double> left_s;
  std::string activity;  ///< of the evaluator: "compiling", ...
};

/// The objective under which search and final phase rank by time in a layer.
inline constexpr const char* kInLayerObjective = "in_layer";

/// The time of that name: "in_layer", "plain", "hot", "cold"; empty when it was not measured.
const std::optional<Timing>& timing_of(const Observation& record, const std::string& time);
/// One value a round; empty when it was not measured.
const std::vector<double>& rounds_of(const FinalRecord& record, const std::string& time);
/// Whether it can be compared by that time: not where too few rounds were steady. Of a saved row,
/// without its rounds, the median is enough.
bool has_time(const FinalRecord& record, const std::string& time);
/// The time of candidates that a search under this objective minimises: "cold", "in_layer" where
/// they have one, else "hot".
std::string search_time(const std::string& objective, bool in_layer);
/// That of a record.
const std::optional<Timing>& objective_timing(const Observation& record,
                                              const std::string& objective);
/// The time by which finals are ranked and compared: the objective's; of "in_layer", "hot" and
/// "score" the first of in_layer (for the first only), plain and hot that every correct candidate
/// has, and the baseline that is fastest by itself. Recordings, machines without cuBLASLt, custom
/// operations and slow backends have no times in a layer.
std::string final_time(const std::vector<FinalRecord>& finals, const std::string& objective);

}  // namespace fatune
