// ledger.hpp - the trials of a run, line by line: what resumes it, repeats it and is reported.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
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

/// All that decides which trials a run makes, but for proposer and device.
struct EvolutionPlan {
  ProposerMode mode = ProposerMode::kFull;
  std::int64_t trials = 45;       ///< candidates that are charged, as in EvoEngineer
  std::int64_t wanted = 1;        ///< of a request, at most
  std::int64_t evaluations = 12;  ///< configs of a template that are tried on a problem
  std::int64_t rounds = 20;       ///< of the best against the start, at the end
  std::int64_t answer_seconds = 300;
  std::uint64_t seed = 42;
  std::string kernel = {};  ///< the start's name
  std::vector<NamedProblem> problems = {};
};
void fields(EvolutionPlan& x, FieldList& f);

/// The first line.
struct LedgerHeader {
  EvolutionPlan plan;
  Environment environment;
  bool recorded = false;  ///< a ledger stood in for a device
};
void fields(LedgerHeader& x, FieldList& f);

struct DuelRecord {
  std::string id;  ///< of the best
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
  std::uint64_t whole_bytes = 0;  ///< up to the end of the last whole line
};

inline constexpr const char* kLedgerFile = "ledger.jsonl";

/// Whether the path is a ledger, plain or .gz, or a folder with one.
bool is_evolution(const std::filesystem::path& path);
/// Whether a run has begun in the folder. A kill before the first line leaves an empty file.
bool holds_run(const std::filesystem::path& folder);
/// Reads a ledger, plain or .gz, or that of a run's folder; a cut last line is dropped.
Result<Ledger> load_ledger(const std::filesystem::path& path);

/// FOLDER/ledger.jsonl; another process must not have it.
class LedgerWriter {
 public:
  /// A folder that has a ledger already is an error that names --resume.
  static Result<LedgerWriter> create(const std::filesystem::path& folder,
                                     const LedgerHeader& header);
  static Result<LedgerWriter> resume(const std::filesystem::path& folder);
  Status append(LedgerLine line);

 private:
  AppendFile file_;
};

}  // namespace fatune
