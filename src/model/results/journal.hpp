// journal.hpp - the append-only record of a run: what it set out to do, writer, tolerant reader.
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

/// The strategy of --budget 0: nothing is searched, the final phase takes what is known.
inline constexpr const char* kKnownStrategy = "known";

/// What a run set out to do.
struct RunPlan {
  std::vector<NamedProblem> problems;
  std::vector<std::string> kernels;
  std::vector<std::string> kernel_hashes;  ///< text_hash of each, filled by run_sweep
  std::string strategy = "evo";
  bool one_lever = false;              ///< each move changes exactly one parameter
  std::string objective = "in_layer";  ///< in_layer, hot, cold, score
  std::uint64_t seed = 42;
  std::uint64_t budget_evaluations = 150;  ///< a problem; 0: no limit
  std::optional<double> budget_seconds;    ///< a problem; either may end it
  std::uint64_t patience = 0;  ///< candidates without a faster one that end a search; 0: none do
  bool skip_correctness = false;
  bool record_cold = false;  ///< cold timing of every candidate, not only of finalists
  /// Names of implementations measured beside the winners; empty: the reference alone.
  std::vector<std::string> baselines;
  /// Where the searches may start, nearest first for some problem of the plan; a resumed run keeps
  /// those of its journal.
  std::vector<SavedConfig> warm_starts;
  /// Of `problems`, those that this run has; none of them starts the search of another.
  std::optional<Shard> shard;
  std::string command;  ///< as typed, to reproduce
};
void fields(RunPlan& x, FieldList& f);
/// The problems of its shard; without one, all.
std::vector<NamedProblem> shard_problems(const RunPlan& plan);
/// SHA-256 of all that decides a run but device and version: shards of one plan have the same.
std::string plan_hash(RunPlan plan);
/// Where two plans are, in words.
struct PlanPlaces {
  const char* before = "in the journal";
  const char* now = "here";
};
/// Empty when `resumed` continues `recorded`; else the field that differs, with both values.
std::string difference(const RunPlan& recorded, const RunPlan& resumed, PlanPlaces places = {});

struct JournalHeader {
  RunPlan plan;
  Environment environment;
  std::vector<MergedShard> merged = {};   ///< empty: one run wrote all of it
  std::vector<Environment> helpers = {};  ///< other devices that measured candidates
};
void fields(JournalHeader& x, FieldList& f);

struct Journal {
  JournalHeader header;
  std::vector<Record> records;
  bool cut = false;               ///< the last line was incomplete and has been dropped
  std::vector<Error> left_out{};  ///< bad lines, of Damage::kLeaveOut
};

/// What becomes of a line, not the first, that does not parse or does not fit its checksum.
enum class Damage { kRefuse, kLeaveOut };

/// Reads a journal, plain or .gz. A cut last line is dropped; any other bad line is an error with
/// its number; a newer schema is an error that says which fatune reads it.
Result<Journal> load_journal(const std::filesystem::path& path, Damage damage = Damage::kRefuse);
Result<Journal> parse_journal(std::string_view text, const std::string& where,
                              Damage damage = Damage::kRefuse);

/// That a folder holds no journal, or an empty one.
Status check_no_journal(const std::filesystem::path& folder);

/// Appends records to RUN/journal.jsonl, each with its checksum. Holds an exclusive lock: two
/// sweeps into one folder are refused.
class JournalWriter {
 public:
  /// A new run: the folder must not hold a journal already (the error names --resume).
  static Result<JournalWriter> create(const std::filesystem::path& folder,
                                      const JournalHeader& header);
  /// Continues a run; a cut last line is removed from the file first.
  static Result<JournalWriter> resume(const std::filesystem::path& folder);
  /// On an error the lines about candidates that are on the device are taken back: what ends this
  /// run is the disk, none of them.
  Status append(const Record& record);
  const std::filesystem::path& path() const { return path_; }
  bool has_grown() const { return has_grown_; }  ///< since it was opened

 private:
  std::filesystem::path path_;
  AppendFile file_;
  bool has_grown_ = false;
  std::optional<std::uint64_t> last_started_;  ///< where the lines `started` at the end begin
};

}  // namespace fatune
