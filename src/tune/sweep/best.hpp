// best.hpp: Makes best.json (fatune.best/1) of a sweep's result, and reads it for later use.
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
#include "model/results/rank_census.hpp"
#include "model/results/sol_score.hpp"
#include "model/results/sweep_result.hpp"

namespace fatune {

/// A contestant of the final phase.
struct BestRow : FinalRecord {
  std::string text_hash;  ///< of the kernel's template and headers; of the best one
  std::optional<Ratio> to_baseline;
  bool ties_with_best = false;
  std::optional<double> score;
};

struct BestSearch {
  std::string strategy;
  std::uint64_t seed = 0;
  std::string objective;
  std::uint64_t evaluations = 0;
  std::map<Outcome, std::uint64_t> outcomes;
  double seconds = 0;
  std::uint64_t valid_points = 0, raw_points = 0;
  double gpu_waited_s = 0;
  std::vector<SavedConfig> warm_starts;
  std::optional<bool> began_with_best;  ///< the best is a warm start; empty: no best
};

/// All but name, problem and best is absent in a bare config file.
struct BestProblem {
  std::string name;
  std::optional<Problem> problem;
  std::string gpu;              ///< UUID; empty: the file's device, or not known
  std::optional<BestRow> best;  ///< empty: no candidate was correct
  std::string score_note;
  std::vector<BestRow> finalists, baselines;  ///< in the order of their places
  std::optional<Gate> gate;
  std::optional<SolScore> sol;
  std::optional<BestSearch> search;
};

struct BestFile {
  DocumentHead head;
  std::string correctness;            ///< "skipped", or empty
  std::optional<Environment> device;  ///< empty in a bare config
  std::vector<Environment> helpers;   ///< other devices that measured candidates of searches
  std::vector<BestProblem> problems;
  std::optional<double> geomean_ratio;  ///< of the gates
  double seconds = 0;
  std::optional<RankCensus> ranks;     ///< of mpirun or srun, that made it
  std::optional<FleetTimeline> fleet;  ///< of a run on several devices
  std::string where{};                 ///< the file that it was read from
  bool bare = false;                   ///< a config with its problem, not a list of problems

  /// For errors: "x.json: field 'problems[1].best'".
  std::string place(std::size_t problem, const std::string& key) const;
};
/// Of a problem's finals the GPU, where it is not the only one: then `environment` names none.
template <typename Row>
std::string gpu_of(const std::vector<Row>& finals, const Environment& environment) {
  return finals.empty() || !environment.device_uuid.empty() ? "" : finals.front().gpu;
}
/// Adds those of `more` whose device is not among them.
void add_helpers(const std::vector<Environment>& more, std::vector<Environment>& helpers);
void fields(BestRow& x, FieldList& f);
void fields(BestSearch& x, FieldList& f);
void fields(BestProblem& x, FieldList& f);
void fields(BestFile& x, FieldList& f);

/// Of an object that holds a file: best.json, or a bare config {"kernel":...,"config":{...}}, which
/// is then the best of its only problem.
Result<BestFile> best_file_from_json(Json object, const std::string& where);
/// The file itself, or best.json in a run's folder.
Result<std::filesystem::path> find_best_file(const std::filesystem::path& path);
/// best.json of one problem or several, or a bare config file; a folder stands for the best.json in
/// it. An error unless there is a problem, and the best of each is a config of a kernel.
Result<BestFile> load_best_file(const std::filesystem::path& path);
/// The best configs of such a file.
std::vector<SavedConfig> configs_of(const BestFile& file);
/// Why the results of a best are unchecked, as a clause; empty: it passed every gate.
std::string why_unverified(const BestRow& best);
/// The first of these files that the folder has; empty when it has none.
std::filesystem::path first_file(const std::filesystem::path& folder,
                                 std::initializer_list<const char*> names);

/// Of several problems, those without a final phase (an interrupted sweep) are left out: only
/// final-phase numbers are published.
Json best_json(const SweepResult& result);
/// Writes best.json into the run's folder, unless no problem has had its final phase.
Status save_best(const SweepResult& result);

}  // namespace fatune
