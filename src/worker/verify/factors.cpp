// factors.cpp - rows of a head, or blocks of them, to the places of their elements; blocks to
// unlike magnitudes.
#include "worker/verify/factors.hpp"

#include <algorithm>

#include "worker/verify/elements.hpp"
#include "worker/verify/recode.hpp"

namespace fatune {
namespace {

/// Tokens that a factor is for.
std::int64_t tokens_of_factor(const Problem& problem, const TensorSizes& sizes) {
  return problem.descale_block > 0 ? problem.descale_block : sizes.rows;
}

}  // namespace

std::vector<std::vector<ElementRun>> runs_of_factors(const Problem& problem,
                                                     std::string_view tensor) {
  const TensorSizes sizes = sizes_of(problem, tensor);
  const std::int64_t tokens = tokens_of_factor(problem, sizes);
  std::vector<std::vector<ElementRun>> all(static_cast<std::size_t>(
      problem.batch * problem.kv_heads * factors_of_head(problem, tensor)));
  for (std::int64_t row = 0; row < sizes.batch * sizes.heads * sizes.rows;) {
    const std::int64_t count = std::min(tokens, sizes.rows - row % sizes.rows);
    all[factor_of_row(problem, tensor, row)].push_back(
        {static_cast<std::size_t>(row * sizes.columns),
         static_cast<std::size_t>(count * sizes.columns)});
    row += count;
  }
  return all;
}

std::size_t factor_of_row(const Problem& problem, std::string_view tensor, std::int64_t row) {
  const TensorSizes sizes = sizes_of(problem, tensor);
  const std::int64_t part = row / sizes.rows / (sizes.heads / problem.kv_heads);
  const std::int64_t token = row % sizes.rows;
  return static_cast<std::size_t>(part * factors_of_head(problem, tensor) +
                                  token / tokens_of_factor(problem, sizes));
}

void scale_blocks(const Problem& problem, std::string_view tensor, std::vector<std::byte>& bytes) {
  const auto all = elements<std::uint16_t>(bytes);
  const Dtype dtype = out_dtype(problem);
  const auto of_head = static_cast<std::size_t>(factors_of_head(problem, tensor));
  const std::vector<std::vector<ElementRun>> factors = runs_of_factors(problem, tensor);
  for (std::size_t i = 0; i < factors.size(); ++i) {
    const auto by = static_cast<float>(1 + i % of_head % 4);
    for (const auto& [first, count] : factors[i]) {
      const auto run = all.subspan(first, count);
      recode<std::uint16_t>(run, dtype, run, dtype, [&](float value) { return value / by; });
    }
  }
}

}  // namespace fatune
