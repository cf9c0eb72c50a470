// journal_dataset.hpp: Groups a journal's candidates and writes them as other tuners' files.
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
  /// The cost that the search was told: the median under the run's objective. A duplicate has the
  /// cost of the first candidate with its machine code; a failure has none.
  std::optional<double> us;
  /// As RecordedEntry::failure; empty if there is a cost.
  std::string failure;
  /// Whether the config, or the candidate that it repeats, passed every gate.
  bool checked = false;
};

struct JournalGroup {
  std::string kernel;
  NamedProblem problem;
  std::vector<ToldRecord> configs{};  ///< in the order tried; the last record of a repeated config
  Time time = Time::kHot;             ///< searched_time() of the journal
};

/// Groups are in order of first appearance; no group is empty.
std::vector<JournalGroup> group_candidates(const Journal& journal);

/// Names the problem for messages: "4,8,512,64 f16" or "mission 4,8,512,64 f16".
std::string describe(const NamedProblem& problem);

/// Returns the time that the journal's search minimised.
Time searched_time(const Journal& journal);

/// `where` is for messages. Configs with different parameters are an error.
Result<Recording> recording_of(const JournalGroup& group, const Journal& journal,
                               const std::string& where);

/// Returns the sentences that every export states: for example that times were replayed or that
/// outputs were not verified.
std::vector<std::string> cautions(const JournalHeader& header);

/// Returns the seconds of compilation, verification and timing.
double seconds_spent(const CandidateRecord& record);

/// Returns a closed cache file, on which Kernel Tuner can simulate. Times are in milliseconds.
/// Kernel Tuner has no timeout and no wrong result: they become RuntimeFailedConfig, and
/// fatune_failure holds the outcome.
Result<std::string> kernel_tuner_cache(const JournalGroup& group, const Journal& journal);

/// Returns T4 results with times in milliseconds. `invalidity` is timeout, compile, runtime,
/// correctness (a wrong result), constraints or correct. `correctness` is 1 when every gate was
/// passed. The journal has only summaries, so `runtimes` is empty and quartiles are measurements.
Json t4_results(const JournalGroup& group, const Journal& journal);

}  // namespace fatune
