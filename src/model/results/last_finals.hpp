// last_finals.hpp - of a journal with several final phases of a problem, the one that counts.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <vector>

#include "model/problem/problem.hpp"
#include "model/results/record.hpp"

namespace fatune {

/// The final phase of each problem, the last one: its contestants shared rounds, which those of a
/// phase before did not. One ends with a new candidate, or where the run ended while it was
/// written: its first contestants then stand in the journal once more.
class LastFinals {
 public:
  LastFinals() = default;
  explicit LastFinals(std::span<const Record> records);
  void add(const Record& record);
  const std::vector<FinalRecord>& of(const Problem& problem) const;
  std::size_t replaced(const Problem& problem) const;  ///< how many records of phases before

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
