// replay_text.hpp - scores of strategies to tables for a terminal.
#pragma once

#include <string>
#include <vector>

#include "out/text/layout.hpp"
#include "search/replay/replay.hpp"

namespace fatune {

/// The space in a line, what is to be known of it, and a row for each strategy.
std::string replay_text(const Replay& replay, const Paint& paint = {});
/// One row a strategy: its mean P over the spaces, and where it is lowest.
std::string means_text(const std::vector<Replay>& replays, const Paint& paint = {});
/// What is wrong when random search scores something.
std::string control_failure(const Replay& replay);

}  // namespace fatune
