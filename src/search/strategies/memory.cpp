// memory.cpp - keeps costs by index, and draws points that have none.
#include "search/strategies/memory.hpp"

#include <algorithm>

namespace fatune {
namespace {

constexpr std::size_t kTriesPerPoint = 20;  // until a sample has no repeats; chosen

}  // namespace

void Memory::tell(std::uint64_t index, std::optional<double> cost) {
  const double heard = cost.value_or(kFailedCost);
  costs_[index] = heard;
  if (heard >= best_cost_) return;
  best_cost_ = heard;
  best_ = index;
}

std::optional<double> Memory::cost(std::uint64_t index) const {
  const auto found = costs_.find(index);
  if (found == costs_.end()) return std::nullopt;
  return found->second;
}

std::uint64_t Memory::fresh(Rng& rng) const {
  return deck_.left() > 0 ? deck_.peek(rng) : rng.below(space_.size());
}

std::vector<std::uint64_t> Memory::sample(std::size_t count, Rng& rng) const {
  std::vector<std::uint64_t> drawn = {fresh(rng)};
  for (std::size_t i = 0; i < kTriesPerPoint * count && drawn.size() < count; ++i) {
    const std::uint64_t index = fresh(rng);
    if (std::find(drawn.begin(), drawn.end(), index) == drawn.end()) drawn.push_back(index);
  }
  return drawn;
}

}  // namespace fatune
