// layer_rounds.hpp: Times contestants between the products of a layer, in rounds of their own.
#pragma once

#include <vector>

#include "core/result.hpp"
#include "worker/runs/contestants.hpp"

namespace fatune {

/// A GPU that goes on from layer to layer, as in a program, settles on one speed; hence rounds
/// apart from the others. `orders` are those of the rounds, which come again when they are used up.
/// Behind hot rounds: their times tell how long a round takes. Nothing to do without a layer. The
/// layers' note then says how many rounds were steady. `note` hears of every few rounds.
Status run_layer_rounds(Contestants& contestants,
                        const std::vector<std::vector<std::size_t>>& orders, const PhaseNote& note);

/// The two that are fastest in a layer: A B A B must give the times of A A B B. A row says when it
/// does not, and the layers' note in any case.
Status test_layer_order(Contestants& contestants);

}  // namespace fatune
