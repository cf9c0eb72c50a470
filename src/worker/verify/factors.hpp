// factors.hpp - which elements of q, k and v of an fp8 problem share a factor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "model/problem/problem.hpp"

namespace fatune {

/// Neighbouring elements of a tensor in order.
struct ElementRun {
  std::size_t first = 0, count = 0;
};

/// Of q, k or v the elements of each factor, in the order of factors: a run of k and v, and of q
/// one for each query head that reads the key head.
std::vector<std::vector<ElementRun>> runs_of_factors(const Problem& problem,
                                                     std::string_view tensor);

/// Where the factor of a row of q, k or v stands, rows counted over heads and batch.
std::size_t factor_of_row(const Problem& problem, std::string_view tensor, std::int64_t row);

/// Of 16 bits: multiplies the blocks of tokens that have factors by 1, 1/2, 1/3 and 1/4 in turn.
void scale_blocks(const Problem& problem, std::string_view tensor, std::vector<std::byte>& bytes);

}  // namespace fatune
