// journal.hpp: Defines the append-only record of a run: its plan, a writer and a tolerant reader.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/append_file.hpp"
#include "core/result.hpp"
#include "model/problem/suite.hpp"
#include "model/results/record.hpp"
#include "model/results/shard.hpp"

namespace fatune {

/// Strategy of --budget 0: no search, only the final phase of known configs.
inline constexpr const char* kKnownStrategy = "known";

/// The plan of a run: problems, kernels, objective, budgets and baselines.
struct RunPlan {
  std::vector<NamedProblem> problems;
  std::vector<std::string> kernels;
  std::vector<std::string> kernel_hashes;  ///< text_hash of each kernel, filled by run_sweep
  std::string strategy = "evo";
  bool one_lever = false;  ///< each move changes exactly one parameter
  Objective objective = Objective::kInLayer;
  std::uint64_t seed = 42;
  std::uint64_t budget_evaluations = 150;  ///< per problem; 0: no limit
  std::optional<double> budget_seconds;    ///< per problem; the first limit reached ends the search
  std::uint64_t patience = 0;  ///< candidates without improvement that end a search; 0: unlimited
  bool skip_correctness = false;
  bool record_cold = false;  ///< cold timing of every candidate, not only of finalists
  /// Names of implementations measured beside the winners; empty: the reference alone.
  std::vector<std::string> baselines;
  /// Possible starts of the searches, nearest first for some problem of the plan; a resumed run
  /// keeps the starts of its journal.
  std::vector<SavedConfig> warm_starts;
  /// The part of `problems` that this run has; no search starts from another problem's result.
  std::optional<Shard> shard;
  std::string command;  ///< as typed, to reproduce the run
};
void fields(RunPlan& x, FieldList& f);
/// Returns the problems of the plan's shard; all problems without a shard.
std::vector<NamedProblem> shard_problems(const RunPlan& plan);
/// SHA-256 of everything that decides a run except device and version. All shards of one plan share
/// it.
std::string plan_hash(RunPlan plan);
/// Words for the places of two compared plans.
struct PlanPlaces {
  const char* before = "in the journal";
  const char* now = "here";
};
/// Empty if `resumed` continues `recorded`; otherwise names the field that differs, with both
/// values.
std::string difference(const RunPlan& recorded, const RunPlan& resumed, PlanPlaces places = {});

struct JournalHeader {
  RunPlan plan;
  Environment environment;
  std::vector<MergedShard> merged = {};   ///< empty: a single run
  std::vector<Environment> helpers = {};  ///< other devices that measured candidates
};
void fields(JournalHeader& x, FieldList& f);

struct Journal {
  JournalHeader header;
  std::vector<Record> records;
  bool cut = false;               ///< the last line was incomplete and has been dropped
  std::vector<Error> left_out{};  ///< bad lines, with Damage::kLeaveOut
};

/// Treatment of a line, except the first, that does not parse or does not match its checksum.
enum class Damage { kRefuse, kLeaveOut };

/// Reads a journal, plain or .gz. A cut last line is dropped; any other bad line is an error with
/// its number; a newer schema is an error that says which fatune reads it.
Result<Journal> load_journal(const std::filesystem::path& path, Damage damage = Damage::kRefuse);
Result<Journal> parse_journal(std::string_view text, const std::string& where,
                              Damage damage = Damage::kRefuse);

/// Returns the path itself; for a run's folder or its best.json, the journal in the folder. The
/// error for a folder of several runs names them.
Result<std::filesystem::path> find_results(const std::filesystem::path& path);

/// Checks that a folder holds no journal, or an empty one.
Status check_no_journal(const std::filesystem::path& folder);

/// Appends records to RUN/journal.jsonl, each with its checksum. Holds an exclusive lock: two
/// sweeps into one folder are refused.
class JournalWriter {
 public:
  /// Starts a new run: the folder must not hold a journal already (the error names `fatune
  /// resume`).
  static Result<JournalWriter> create(const std::filesystem::path& folder,
                                      const JournalHeader& header);
  /// Continues a run; first removes a cut last line from the file.
  static Result<JournalWriter> resume(const std::filesystem::path& folder);
  /// Appends a record, unless the file would become larger than load_journal() reads. On an error
  /// of the disk, removes the lines about candidates on the device: it ended this run, not a
  /// candidate.
  Status append(const Record& record);
  const std::filesystem::path& path() const { return path_; }
  bool has_grown() const { return has_grown_; }  ///< since the writer was opened
  /// Whether searches must end, so that final phases still find room.
  bool is_nearly_full() const { return is_nearly_full_; }

 private:
  std::filesystem::path path_;
  AppendFile file_;
  bool has_grown_ = false, is_nearly_full_ = false;
  std::optional<std::uint64_t> last_started_;  ///< offset of the trailing `started` lines
};

}  // namespace fatune
