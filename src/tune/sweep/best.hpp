// best.hpp: Makes best.json (fatune.best/1) from a sweep's result, and reads it for later use.
#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/fields_fwd.hpp"
#include "core/json.hpp"
#include "core/result.hpp"
#include "model/results/document.hpp"
#include "model/results/fleet_timeline.hpp"
#include "model/results/sol_score.hpp"
#include "model/results/sweep_result.hpp"

namespace fatune {

/// A contestant of the final phase.
struct BestRow : FinalRecord {
  std::string text_hash;  ///< hash of the kernel's template and headers; best row only
  std::optional<Ratio> to_baseline;
  bool ties_with_best = false;
  std::optional<double> score;
};

struct BestSearch {
  std::string strategy;
  std::uint64_t seed = 0;
  Objective objective = Objective::kInLayer;
  std::uint64_t evaluations = 0;
  std::map<Outcome, std::uint64_t> outcomes;
  double seconds = 0;
  std::uint64_t valid_points = 0, raw_points = 0;
  double gpu_waited_s = 0;
  std::vector<SavedConfig> warm_starts;
  std::optional<bool> began_with_best;  ///< whether the best is a warm start; empty: no best
};

/// A bare config file has only name, problem and best.
struct BestProblem {
  std::string name;
  std::optional<Problem> problem;
  std::string gpu;              ///< UUID; empty: the file's device, or unknown
  std::optional<BestRow> best;  ///< empty: no candidate was correct
  std::string score_note;
  std::vector<BestRow> finalists, baselines;  ///< by rank
  std::optional<Gate> gate;
  std::optional<SolScore> sol;
  std::optional<BestSearch> search;
};

struct BestFile {
  DocumentHead head;
  std::string correctness;            ///< "skipped" or empty
  std::optional<Environment> device;  ///< empty in a bare config
  std::vector<Environment> helpers;   ///< further devices that measured candidates of searches
  std::vector<BestProblem> problems;
  std::optional<double> geomean_ratio;  ///< over the gates of the problems
  double seconds = 0;
  std::optional<RankCensus> ranks;     ///< ranks of mpirun or srun that made the result
  std::optional<FleetTimeline> fleet;  ///< set for a run on several devices
  std::string where{};                 ///< path of the parsed file
  bool bare = false;                   ///< a single config with its problem, not a list of problems

  /// Describes a place for errors: "x.json: field 'problems[1].best'".
  std::string place(std::size_t problem, const std::string& key) const;
};
/// UUID of the GPU that ran the finals; empty if the whole run used one GPU.
template <typename Row>
std::string gpu_of(const std::vector<Row>& finals, const Environment& environment) {
  return finals.empty() || !environment.device_uuid.empty() ? "" : finals.front().gpu;
}
/// Adds environments of `more` whose device is not in `helpers`.
void add_helpers(const std::vector<Environment>& more, std::vector<Environment>& helpers);
void fields(BestRow& x, FieldList& f);
void fields(BestSearch& x, FieldList& f);
void fields(BestProblem& x, FieldList& f);
void fields(BestFile& x, FieldList& f);

/// Parses best.json, or a bare config {"kernel":...,"config":{...}}, which becomes the best of its
/// only problem.
Result<BestFile> best_file_from_json(Json object, const std::string& where);
/// Returns the path itself, or best.json in a run's folder.
Result<std::filesystem::path> find_best_file(const std::filesystem::path& path);
/// Loads best.json or a bare config file; a folder stands for its best.json. A file without
/// problems, or a best that is not a config of a kernel, is an error.
Result<BestFile> load_best_file(const std::filesystem::path& path);
/// Returns the best configs of a file.
std::vector<SavedConfig> configs_of(const BestFile& file);
/// Explains why the results of a best are unchecked, as a clause; empty if all gates passed.
std::string why_unverified(const BestRow& best);
/// Returns the first of the named files in the folder; empty if there is none.
std::filesystem::path first_file(const std::filesystem::path& folder,
                                 std::initializer_list<const char*> names);

/// Renders best.json without problems that had no final phase, such as after an interrupt, because
/// only final-phase times are published.
Json best_json(const SweepResult& result);
/// Writes best.json into the run's folder if any problem has had its final phase.
Status save_best(const SweepResult& result);

}  // namespace fatune
