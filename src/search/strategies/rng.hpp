// rng.hpp: Generates random numbers that are equal on every machine and standard library.
#pragma once

#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "core/result.hpp"

namespace fatune {

/// SplitMix64 (Steele, Lea, Flood 2014): 64 bits of state, passes BigCrush.
class Rng {
 public:
  explicit Rng(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15ULL;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }

  /// Returns a uniform number in [0, bound), without the modulo bias.
  std::uint64_t below(std::uint64_t bound) {
    FATUNE_CHECK(bound > 0, "there is no number below zero");
    const std::uint64_t uneven = (0 - bound) % bound;
    std::uint64_t drawn = next();
    while (drawn < uneven) drawn = next();
    return drawn % bound;
  }

  /// Returns a uniform number in [0, 1).
  double unit() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }
  bool chance(double probability) { return unit() < probability; }

  template <typename Of>
  void shuffle(std::vector<Of>& list) {
    for (std::size_t i = list.size(); i-- > 1;) std::swap(list[i], list[below(i + 1)]);
  }
  /// Returns 0 to count - 1 in random order.
  std::vector<std::size_t> order(std::size_t count) {
    std::vector<std::size_t> numbers(count);
    std::iota(numbers.begin(), numbers.end(), std::size_t{0});
    shuffle(numbers);
    return numbers;
  }

 private:
  std::uint64_t state_;
};

}  // namespace fatune
