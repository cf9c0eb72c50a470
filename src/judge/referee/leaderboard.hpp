// leaderboard.hpp: Ranks the judgements of a problem, and lists problems with their known times.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "judge/referee/judgement.hpp"
#include "judge/referee/problem_book.hpp"
#include "model/results/physics.hpp"

namespace fatune {

inline constexpr std::int64_t kUsualPlaces = 10;
struct AskLeaderboard {
  std::string problem;                ///< problem id
  std::optional<std::int64_t> first;  ///< maximum number of rows; kUsualPlaces if empty
};
struct LeaderboardRow {
  std::int64_t place = 0;
  JudgedKernel judgement;
  double to_first = 1;           ///< ratio of this row's median to the first row's
  bool ties_with_first = false;  ///< this row's interval overlaps the first row's
};
struct Leaderboard {
  std::string problem_id;
  std::string device;        ///< device of all rows
  bool recorded = false;     ///< all rows are recorded
  std::optional<Time> time;  ///< final_time() of all rows; empty without rows
  std::vector<LeaderboardRow> rows;
};
void fields(AskLeaderboard& x, FieldList& f);
void fields(LeaderboardRow& x, FieldList& f);
void fields(Leaderboard& x, FieldList& f);

/// Ranks kernels that passed and were timed on the device of the newest such judgement. A kernel
/// and config counts with its judgement of highest scrutiny, then the newest. A refused kernel
/// returns when it passes with equal scrutiny.
Leaderboard leaderboard(const std::vector<JudgedKernel>& judgements, const AskLeaderboard& wanted);

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
  std::string next;  ///< id of the last problem; empty if there are no more
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
