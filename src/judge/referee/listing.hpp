// listing.hpp - problems with what can be reached on them: floors of physics, times that are known.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "judge/referee/judgement.hpp"
#include "judge/referee/problem_book.hpp"
#include "model/results/physics.hpp"

namespace fatune {

/// A time of somebody on a problem, by which a kernel's can be seen.
struct KnownTime {
  std::string impl;  ///< "fatune:fa_wgmma", "cudnn", a submitted kernel's name
  std::string time;  ///< which one it is: "in_layer", "plain", "hot"
  double median_us = 0;
  std::string source;  ///< the file of a shipped config, "baseline", the id of a judgement
  bool recorded = false;
};
struct ListedProblem {
  BookedProblem booked;
  std::optional<PhysicsFloor> floors;  ///< of a device whose facts are known
  std::vector<KnownTime> known;
};
struct ProblemList {
  std::vector<ListedProblem> problems;
};
void fields(KnownTime& x, FieldList& f);
void fields(ListedProblem& x, FieldList& f);
void fields(ProblemList& x, FieldList& f);

/// Of the shipped configs that were best for exactly this problem, the fastest; in a layer where
/// that is known.
std::optional<KnownTime> best_shipped(const std::vector<SavedConfig>& shipped,
                                      const Problem& problem);
/// Nothing for a record without times.
std::optional<KnownTime> known_time(const FinalRecord& record, const std::string& source);

}  // namespace fatune
