// replay_text.hpp: Declares tables of strategies' scores for a terminal.
#pragma once

#include <string>
#include <vector>

#include "report/text/layout.hpp"
#include "search/replay/replay.hpp"

namespace fatune {

/// Describes the space and lists one row per strategy.
std::string replay_text(const Replay& replay, const Paint& paint = {});
/// Lists per strategy the mean P over the spaces, and the space of the lowest P.
std::string means_text(const std::vector<Replay>& replays, const Paint& paint = {});
/// Says that a score of random search other than 0 makes the scores of the space meaningless.
std::string control_failure(const Replay& replay);

}  // namespace fatune
