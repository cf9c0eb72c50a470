// search_loop.hpp - runs one strategy over one space: ask, evaluate, journal, tell.
#pragma once

#include <deque>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "journal/sweep_result.hpp"
#include "search/strategy.hpp"
#include "tune/budget.hpp"
#include "tune/run_state.hpp"

namespace fatune {

/// Keeps as many candidates in flight as the evaluator has use for, and tells results in the order
/// of the asks. What the journal holds takes its place in that order without being evaluated, so a
/// resumed run asks what the first one asked.
class SearchLoop {
 public:
  SearchLoop(RunState& run, ProblemResult& result, const Space& space, Strategy& strategy);
  /// Returns after the share is used up, the space is exhausted, or the candidate on the device
  /// when an interrupt came. The value is the number of evaluations used.
  Result<std::uint64_t> run(const Share& share);

 private:
  struct Slot {
    Point point;
    std::string key;
    std::optional<CandidateRecord> known;
  };
  Status fill(const Share& share);
  Status settle_oldest();
  void tell(const Point& point, const CandidateRecord& record);
  /// After an interrupt: until what is on the device, and all that was asked before it, is told.
  bool worth_waiting() const;

  RunState& run_;
  ProblemResult& result_;
  const Space& space_;
  Strategy& strategy_;
  std::size_t capacity_;
  std::deque<Slot> window_;
  std::uint64_t asked_ = 0;
  bool exhausted_ = false;
};

}  // namespace fatune
