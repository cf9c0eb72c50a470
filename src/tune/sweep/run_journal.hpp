// run_journal.hpp: Keeps the journal of a running sweep, and appends all its new records.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/kernel/candidate.hpp"
#include "model/results/journal.hpp"
#include "model/results/last_finals.hpp"
#include "model/results/record.hpp"

namespace fatune {

/// Finds the records of a journal by candidate and by problem.
class ResumeIndex {
 public:
  ResumeIndex() = default;
  explicit ResumeIndex(const Journal& journal);

  /// Returns the journalled result of a candidate. A suspect that was started twice returns a
  /// record `crashed`, which is not in the journal yet.
  std::optional<CandidateRecord> find(const Candidate& candidate) const;
  /// Returns the problem's last started candidate if it never finished, as it may have ended the
  /// program. Candidates started earlier had left the device by then.
  const StartedRecord* suspect(const Problem& problem) const;
  bool is_journalled(const std::string& key) const { return finished_.contains(key); }
  /// Records in the order of time.
  std::vector<CandidateRecord> results(const Problem& problem) const;
  const std::vector<FinalRecord>& finals(const Problem& problem) const {
    return finals_.of(problem);
  }
  /// Returns when the problem began and when its last record was written; empty without records.
  struct Span {
    double begin_s = 0, last_s = 0;
    bool has_begin = false;  ///< whether a `begin` record gives the time
  };
  const Span* span(const Problem& problem) const;
  double last_at_s() const { return last_at_s_; }
  bool complete() const { return complete_; }  ///< whether the run ended normally

  /// Adds a record that is being written.
  void add(const Record& record);

 private:
  void note_span(const Record& record);

  std::map<std::string, CandidateRecord> finished_;  ///< by key
  std::map<Problem, StartedRecord> last_started_;    ///< of earlier attempts
  std::map<Problem, Span> spans_;
  LastFinals finals_;
  double last_at_s_ = 0;
  bool complete_ = false;
};

/// The journal of a run and its index, shared by several threads.
class RunJournal {
  template <typename Ask>
  auto locked(Ask ask) const {
    const std::lock_guard lock(mutex_);
    return ask();
  }

 public:
  RunJournal(JournalWriter writer, ResumeIndex known)
      : writer_(std::move(writer)), known_(std::move(known)), complete_(known_.complete()) {}

  Status append(const Record& record);
  /// Sets the time of a record, and appends the record.
  Status append(Record record, double at_s);
  std::optional<CandidateRecord> find(const Candidate& candidate) const {
    return locked([&] { return known_.find(candidate); });
  }
  std::optional<StartedRecord> suspect(const Problem& problem) const;
  bool is_journalled(const std::string& key) const {
    return locked([&] { return known_.is_journalled(key); });
  }
  std::vector<CandidateRecord> results(const Problem& problem) const {
    return locked([&] { return known_.results(problem); });
  }
  std::vector<FinalRecord> finals(const Problem& problem) const {
    return locked([&] { return known_.finals(problem); });
  }
  std::optional<ResumeIndex::Span> span(const Problem& problem) const;
  double last_at_s() const {
    return locked([&] { return known_.last_at_s(); });
  }
  bool was_complete() const { return complete_; }  ///< at opening
  bool has_grown() const {
    return locked([&] { return writer_.has_grown(); });
  }
  bool is_nearly_full() const {
    return locked([&] { return writer_.is_nearly_full(); });
  }
  /// Whether a final phase was measured since opening.
  bool has_new_finals() const {
    return locked([&] { return new_finals_; });
  }

 private:
  mutable std::mutex mutex_;
  JournalWriter writer_;
  ResumeIndex known_;
  bool complete_ = false, new_finals_ = false;
};

}  // namespace fatune
