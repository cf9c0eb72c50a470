// curves_svg.hpp - scores to a picture: how far the best so far is from the optimum, by
// evaluations.
#pragma once

#include <string>
#include <vector>

#include "search/replay/replay.hpp"

namespace fatune {

/// An SVG of one panel a recording and one line a strategy, the control included; bands are 95 %
/// intervals of the mean. Its colours follow the reader's light or dark scheme.
std::string curves_svg(const std::vector<Replay>& replays, std::uint64_t budget);

}  // namespace fatune
