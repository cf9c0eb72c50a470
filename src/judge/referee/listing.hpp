// listing.hpp: Lists problems with their physics floors and their known times.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "judge/referee/judgement.hpp"
#include "judge/referee/problem_book.hpp"
#include "model/results/physics.hpp"

namespace fatune {

/// A known time on a problem, for comparison with a submitted kernel.
struct KnownTime {
  std::string impl;  ///< "fatune:fa_wgmma", "cudnn" or the name of a submitted kernel
  Time time = Time::kHot;
  double median_us = 0;
  std::string source;  ///< file of a shipped config, "baseline", or a judgement's id
  bool recorded = false;
};
struct ListedProblem {
  BookedProblem booked;
  std::optional<PhysicsFloor> floors;  ///< empty if the device's facts are unknown
  std::vector<KnownTime> known;
};
struct ProblemList {
  std::vector<ListedProblem> problems;
};
void fields(KnownTime& x, FieldList& f);
void fields(ListedProblem& x, FieldList& f);
void fields(ProblemList& x, FieldList& f);

/// Returns the fastest shipped config for exactly this problem, by in-layer time if recorded.
std::optional<KnownTime> best_shipped(const std::vector<SavedConfig>& shipped,
                                      const Problem& problem);
/// Returns nothing for a record without times.
std::optional<KnownTime> known_time(const FinalRecord& record, const std::string& source);

}  // namespace fatune
