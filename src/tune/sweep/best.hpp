// best.hpp - best.json (fatune.best/2): made of a sweep's result, and read back for later use.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/fields_fwd.hpp"
#include "core/json.hpp"
#include "core/result.hpp"
#include "model/results/document.hpp"
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
};

struct BestProblem {
  std::string name;
  std::optional<Problem> problem;
  std::optional<BestRow> best;  ///< empty: no candidate was correct
  std::string score_note;
  std::vector<BestRow> finalists, baselines;  ///< in the order of their places
  std::optional<Gate> gate;
  std::optional<BestSearch> search;
};

struct BestFile {
  DocumentHead head;
  std::string correctness;            ///< "skipped", or empty
  std::optional<Environment> device;  ///< empty in a bare config
  std::vector<BestProblem> problems;
  std::optional<double> geomean_ratio;  ///< of the gates
  double seconds = 0;
  std::optional<SuiteChoice> choice;
  bool flat = false;  ///< read from a file in which the members of its only problem stand
};
void fields(BestRow& x, FieldList& f);
void fields(BestSearch& x, FieldList& f);
void fields(BestProblem& x, FieldList& f);
void fields(BestFile& x, FieldList& f);

/// Of an object that holds a file: best.json, or a bare config {"kernel":...,"config":{...}}, which
/// is then the best of its only problem.
Result<BestFile> best_file_from_json(Json object, const std::string& where);
/// The problems of a file, each with its place for errors.
std::vector<std::pair<std::string, BestProblem>> problems_of(const BestFile& file,
                                                             const std::string& where);

/// Of several problems, those without a final phase (an interrupted sweep) are left out: only
/// final-phase numbers are published.
Json best_json(const SweepResult& result);
/// Writes best.json into the run's folder, unless no problem has had its final phase.
Status save_best(const SweepResult& result);

/// Reads best.json, of one problem or several, or a bare {"kernel":...,"config":{...}} with an
/// optional "problem".
Result<std::vector<SavedConfig>> load_best(const std::filesystem::path& path);

/// The best config of one problem. All but the choice is absent in a bare config file.
struct SavedWinner {
  SavedConfig choice;
  std::string id;
  std::string text_hash;      ///< of the kernel's template and headers; empty in older files
  std::string unverified;     ///< why its results are unchecked; empty: it passed every gate
  std::optional<Timing> hot;  ///< median and interval
  std::optional<Conditions> conditions;
  std::string baseline;         ///< of the gate
  std::optional<double> ratio;  ///< our time over the baseline's
};

struct SavedBest {
  std::string file;
  std::string fatune;   ///< version that wrote it
  std::string command;  ///< that repeats the sweep
  std::string device_name, arch, driver, nvrtc;
  std::int64_t sm_count = 0;  ///< 0: unknown, in older files
  bool recorded = false;
  std::vector<SavedWinner> winners;
};

/// best.json of one problem or several, or a bare config file; a folder stands for the best.json in
/// it.
Result<SavedBest> load_saved_best(const std::filesystem::path& path);

}  // namespace fatune
