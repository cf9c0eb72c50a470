// last_finals.hpp: Selects the last of several final phases of a problem in a journal.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <vector>

#include "model/problem/problem.hpp"
#include "model/results/record.hpp"

namespace fatune {

/// The last final phase of each problem. Contestants of one phase share rounds; contestants of
/// different phases do not. A phase ends with a new candidate. A phase that was cut while written
/// is repeated, so its first contestants occur in the journal again.
class LastFinals {
 public:
  LastFinals() = default;
  explicit LastFinals(std::span<const Record> records);
  void add(const Record& record);
  const std::vector<FinalRecord>& of(const Problem& problem) const;
  std::size_t replaced(const Problem& problem) const;  ///< number of records in earlier phases

 private:
  void add(const CandidateRecord& record);
  void add(const FinalRecord& record);

  struct Phase {
    std::size_t replaced = 0;
    std::vector<FinalRecord> records = {};
    bool is_over = false;
  };
  std::map<Problem, Phase> phases_;
};

}  // namespace fatune
