// run_journal.hpp: Keeps the journal of a running sweep: what it holds, and the one door for more.
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

/// The records of a journal, found by candidate and by problem.
class ResumeIndex {
 public:
  ResumeIndex() = default;
  explicit ResumeIndex(const Journal& journal);

  /// The journalled result of a candidate. A suspect that was started twice gives a record that
  /// says `crashed`, which is not in the journal yet.
  std::optional<CandidateRecord> find(const Candidate& candidate) const;
  /// The candidate of the problem that was started last, when it never finished: it may be what
  /// ended the program. Candidates started before it had left the device by then.
  const StartedRecord* suspect(const Problem& problem) const;
  bool is_journalled(const std::string& key) const { return finished_.contains(key); }
  /// In the order of time.
  std::vector<CandidateRecord> results(const Problem& problem) const;
  const std::vector<FinalRecord>& finals(const Problem& problem) const {
    return finals_.of(problem);
  }
  /// When the problem began and when its last record was written; empty without a record of it.
  struct Span {
    double begin_s = 0, last_s = 0;
    bool told = false;  ///< a `begin` record says when
  };
  const Span* span(const Problem& problem) const;
  double last_at_s() const { return last_at_s_; }
  bool complete() const { return complete_; }  ///< the run had come to its end

  /// Takes note of a record that is written now.
  void add(const Record& record);

 private:
  void note_span(const Record& record);

  std::map<std::string, CandidateRecord> finished_;  ///< by key
  std::map<Problem, StartedRecord> last_started_;    ///< of the attempts before this one
  std::map<Problem, Span> spans_;
  LastFinals finals_;
  double last_at_s_ = 0;
  bool complete_ = false;
};

/// The journal of a run and its index. Several threads may share it.
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
  bool was_complete() const { return complete_; }  ///< when it was opened
  bool has_grown() const {
    return locked([&] { return writer_.has_grown(); });
  }
  /// Whether a final phase was measured since it was opened.
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
