// ledger.hpp: Declares a run's files: the transcript of requests, and the ledger of trials.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <variant>
#include <vector>

#include "core/append_file.hpp"
#include "core/fields_fwd.hpp"
#include "core/result.hpp"
#include "evolve/protocol/request.hpp"
#include "evolve/trial/bench.hpp"
#include "evolve/trial/trial.hpp"

namespace fatune {

/// One request and its answer, or the reason for a missing answer.
struct TranscriptEntry {
  std::int64_t ask = 0;
  std::string request;  ///< the line sent
  std::string answer;   ///< the line received; after a failure only its start
  std::string failure;
  double seconds = 0;
};
void fields(TranscriptEntry& x, FieldList& f);

/// Returns a file's path itself; for a folder its file of that name, else the packed file.
std::filesystem::path file_or_packed(const std::filesystem::path& path, const std::string& name);

/// Reads a transcript, plain or .gz, from a file or a run's folder. Drops a cut last line.
Result<std::vector<TranscriptEntry>> load_transcript(const std::filesystem::path& path);

/// Maximum bytes read of a transcript or ledger; chosen: hundreds of trials whose requests hold
/// eight kernels of the largest source.
inline constexpr std::size_t kRunOfProposers = std::size_t{2} << 30U;
inline constexpr const char* kTranscriptFile = "transcript.jsonl";

/// Writes FOLDER/transcript.jsonl of a new or resumed run.
class TranscriptFile {
 public:
  static Result<TranscriptFile> open(const std::filesystem::path& folder);
  const std::vector<TranscriptEntry>& entries() const { return entries_; }
  Status add(TranscriptEntry entry);

 private:
  std::vector<TranscriptEntry> entries_;
  AppendFile file_;
};

/// Every setting that decides a run's trials, except the proposer and the device.
struct EvolutionPlan {
  ProposerMode mode = ProposerMode::kFull;
  std::int64_t trials = 45;       ///< charged candidates; default as in EvoEngineer
  std::int64_t wanted = 1;        ///< maximum candidates per request
  std::int64_t evaluations = 12;  ///< configs tried per problem for a template
  std::int64_t rounds = 20;       ///< final rounds of the best against the start
  std::int64_t answer_seconds = 300;
  std::uint64_t seed = 42;
  std::string kernel = {};  ///< name of the start kernel
  std::vector<NamedProblem> problems = {};
};
void fields(EvolutionPlan& x, FieldList& f);

/// The first line of a ledger.
struct LedgerHeader {
  EvolutionPlan plan;
  Environment environment;
  bool recorded = false;  ///< a ledger replaced the device
};
void fields(LedgerHeader& x, FieldList& f);

struct DuelRecord {
  std::string id;  ///< id of the best trial
  Duel duel;
};
void fields(DuelRecord& x, FieldList& f);

struct LedgerEnd {
  std::string status = "complete";
};
void fields(LedgerEnd& x, FieldList& f);

using LedgerLine = std::variant<LedgerHeader, Trial, DuelRecord, LedgerEnd>;

struct Ledger {
  LedgerHeader header;
  std::vector<Trial> trials;
  std::vector<DuelRecord> duels;
  bool complete = false;

  bool begun() const { return !header.plan.problems.empty(); }  ///< has its header
};

inline constexpr const char* kLedgerFile = "ledger.jsonl";

/// Returns whether the path is a ledger, plain or .gz, or a folder with a ledger.
bool is_evolution(const std::filesystem::path& path);
/// Returns whether the folder has a started run. A kill before the first line leaves an empty file.
bool holds_run(const std::filesystem::path& folder);
/// Reads a ledger, plain or .gz, from a file or a run's folder. Drops a cut last line.
Result<Ledger> load_ledger(const std::filesystem::path& path);

/// Writes FOLDER/ledger.jsonl; only one process may have the file open.
class LedgerWriter {
 public:
  /// Fails with an error that names --resume if the folder has a ledger.
  static Result<LedgerWriter> create(const std::filesystem::path& folder,
                                     const LedgerHeader& header);
  /// Reads the ledger into `known`, which is empty, and removes a cut last line.
  static Result<LedgerWriter> resume(const std::filesystem::path& folder, Ledger& known);
  Status append(LedgerLine line);

 private:
  AppendFile file_;
};

}  // namespace fatune
