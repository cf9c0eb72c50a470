// resume_index.hpp - a journal's records by what they are about: what a resumed run need not do
// again.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/kernel/candidate.hpp"
#include "model/results/journal.hpp"

namespace fatune {

class ResumeIndex {
 public:
  ResumeIndex() = default;
  explicit ResumeIndex(const Journal& journal);

  /// The journalled result of a candidate. The one started last, when it never finished, took the
  /// whole program with it: it gives a record that says `crashed`, which is not in the journal yet.
  /// Those started before it had left the device when it was their turn to be journalled.
  std::optional<CandidateRecord> find(const Candidate& candidate) const;
  bool is_journalled(const std::string& key) const { return finished_.contains(key); }
  std::vector<CandidateRecord> results(const Problem& problem) const;
  /// The problem's finalists, the last record of each.
  std::vector<FinalRecord> finals(const Problem& problem) const;
  double last_at_s() const { return last_at_s_; }
  bool complete() const { return complete_; }  ///< the run had come to its end

 private:
  std::map<std::string, CandidateRecord> finished_;  ///< by key
  std::optional<StartedRecord> last_started_;
  std::vector<FinalRecord> finals_;
  double last_at_s_ = 0;
  bool complete_ = false;
};

}  // namespace fatune
