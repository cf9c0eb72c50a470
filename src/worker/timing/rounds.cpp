// rounds.cpp - a seed to the order of measurements in every round.
#include "worker/timing/rounds.hpp"

#include <numeric>
#include <random>
#include <utility>

namespace fatune {

std::vector<std::vector<std::size_t>> shuffled_rounds(std::size_t contestants, int rounds,
                                                      std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::vector<std::vector<std::size_t>> orders;
  for (int round = 0; round < rounds; ++round) {
    std::vector<std::size_t> order(contestants);
    std::iota(order.begin(), order.end(), std::size_t{0});
    // Fisher-Yates by hand: std::shuffle gives other orders with other standard libraries.
    for (std::size_t left = contestants; left > 1; --left) {
      std::swap(order[left - 1], order[static_cast<std::size_t>(engine() % left)]);
    }
    orders.push_back(std::move(order));
  }
  return orders;
}

}  // namespace fatune
