// rounds.hpp - contestants to a random order for every round, the same for a seed.
#pragma once

#include <cstdint>
#include <vector>

namespace fatune {

/// `rounds` permutations of 0..contestants-1: drift of clocks and heat then affects all contestants
/// alike.
std::vector<std::vector<std::size_t>> shuffled_rounds(std::size_t contestants, int rounds,
                                                      std::uint64_t seed);

}  // namespace fatune
