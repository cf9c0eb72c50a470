// random.hpp - valid points in random order, none twice: the control.
#pragma once

#include "search/strategies/strategy.hpp"

namespace fatune {

/// The start points come first. `space` must outlive the strategy.
std::unique_ptr<Strategy> make_random(const Lattice& space, const StrategyOptions& options);

}  // namespace fatune
