// journal_dataset.hpp - a journal's candidates by kernel and problem, and as other tuners' files.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/json.hpp"
#include "core/result.hpp"
#include "model/results/journal.hpp"
#include "search/datasets/recording.hpp"

namespace fatune {

struct ToldRecord {
  CandidateRecord record;
  /// What the search was told: the median under the run's objective; that of the first candidate
  /// with the same machine code for a duplicate; nothing for a failure.
  std::optional<double> us;
  /// In the words of RecordedEntry; empty for those that have a time.
  std::string failure;
  /// Passed every gate, itself or as the candidate that it repeats.
  bool checked = false;
};

struct JournalGroup {
  std::string kernel;
  NamedProblem problem;
  std::vector<ToldRecord> configs{};  ///< in the order tried; of repeated ones the last
  std::string objective{};            ///< timed_objective() of the journal
};

/// In the order in which they first appear; none is empty.
std::vector<JournalGroup> group_candidates(const Journal& journal);

/// What the journal is of, for messages: "4,8,512,64 f16" or "mission 4,8,512,64 f16".
std::string describe(const NamedProblem& problem);

/// The time of candidates that the journal's search minimised: "in_layer", "hot" or "cold".
std::string timed_objective(const Journal& journal);

/// `where` is for messages. Configs of different parameters are an error.
Result<Recording> recording_of(const JournalGroup& group, const Journal& journal,
                               const std::string& where);

/// What whoever reads the journal's times must know, a sentence each: that they are recorded, that
/// nothing was checked. Every format that holds them says so.
std::vector<std::string> cautions(const JournalHeader& header);

/// Compiling, verifying and timing.
double seconds_spent(const CandidateRecord& record);

/// As Kernel Tuner closes its own: it can simulate on the file. Times in milliseconds. It knows no
/// timeout and no wrong result: they are RuntimeFailedConfig, and fatune_failure has the outcome.
Result<std::string> kernel_tuner_cache(const JournalGroup& group, const Journal& journal);

/// Times in milliseconds. `invalidity` is the outcome: timeout, compile, runtime, correctness (a
/// wrong result), constraints or correct. `correctness` is 1 when every gate was passed. The
/// journal holds summaries, so `runtimes` is empty and quartiles are measurements.
Json t4_results(const JournalGroup& group, const Journal& journal);

}  // namespace fatune
