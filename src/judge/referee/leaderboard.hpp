// leaderboard.hpp - judgements of a problem to places, the fastest first.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "judge/referee/judgement.hpp"

namespace fatune {

inline constexpr std::int64_t kUsualPlaces = 10;
struct AskLeaderboard {
  std::string problem;                ///< its id
  std::optional<std::int64_t> first;  ///< so many; none: kUsualPlaces
};
struct LeaderboardRow {
  std::int64_t place = 0;
  JudgedKernel judgement;
  double to_first = 1;           ///< median over the first one's
  bool ties_with_first = false;  ///< their intervals meet
};
struct Leaderboard {
  std::string problem_id;
  std::string device;     ///< of all rows
  bool recorded = false;  ///< all rows are
  std::string time;  ///< that places are by: the first of in_layer, plain and hot that all have
  std::vector<LeaderboardRow> rows;
};
void fields(AskLeaderboard& x, FieldList& f);
void fields(LeaderboardRow& x, FieldList& f);
void fields(Leaderboard& x, FieldList& f);

/// Of those that passed and were timed where the newest of them was; of several judgements of one
/// kernel and config the one with the most scrutiny, and of these the newest. One that was refused
/// has no place until it passes with as much scrutiny.
Leaderboard leaderboard(const std::vector<JudgedKernel>& judgements, const AskLeaderboard& wanted);

}  // namespace fatune
