// layer_rounds.hpp: Times contestants between the products of a layer, in rounds of their own.
#pragma once

#include <vector>

#include "core/result.hpp"
#include "worker/runs/contestants.hpp"

namespace fatune {

/// Runs the rounds in a layer apart from the others, because a GPU that goes from layer to layer
/// settles on a speed of its own. Does nothing without a layer. Needs the hot times, which tell how
/// long a round takes. `orders` are used again from the start if they run out. The layers' note
/// says how many rounds were steady. `note` is called every few rounds.
Status run_layer_rounds(Contestants& contestants,
                        const std::vector<std::vector<std::size_t>>& orders, const PhaseNote& note);

/// Compares A B A B with A A B B for the two fastest contestants in a layer. A row notes a
/// difference, and the layers' note says the result in any case.
Status test_layer_order(Contestants& contestants);

}  // namespace fatune
