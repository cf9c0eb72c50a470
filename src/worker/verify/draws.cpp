// draws.cpp: Makes random bits from a counter, and normal values, the same on every machine.
#include <array>

#include "worker/verify/inputs.hpp"

namespace fatune {

double exp_minus(double x) {
  const double step = x / 4096;
  double result = 1 - step * (1 - step / 2 * (1 - step / 3 * (1 - step / 4 * (1 - step / 5))));
  for (int i = 0; i < 12; ++i) result *= result;
  return result;
}

namespace {

constexpr double kInvSqrt2Pi = 0.3989422804014327;

double normal_density(double x) { return kInvSqrt2Pi * exp_minus(0.5 * x * x); }

/// Probability between 0 and x >= 0, by the series density(x) * (x + x^3/3 + x^5/(3*5) + ...).
double probability_from_zero(double x) {
  double term = x, sum = x;
  for (int odd = 3; odd < 200 && term > 1e-18; odd += 2) {
    term *= x * x / odd;
    sum += term;
  }
  return sum * normal_density(x);
}

std::array<float, kDraws> make_normal_table() {
  std::array<float, kDraws> table;
  double x = 0;
  for (std::size_t i = kDraws / 2; i < kDraws; ++i) {
    const double wanted = (static_cast<double>(i) + 0.5) / kDraws - 0.5;
    for (int newton = 0; newton < 3; ++newton) {
      x -= (probability_from_zero(x) - wanted) / normal_density(x);
    }
    table[i] = static_cast<float>(x);
    table[kDraws - 1 - i] = static_cast<float>(-x);
  }
  return table;
}

const std::array<float, kDraws>& normal_table() {
  static const std::array<float, kDraws> table = make_normal_table();
  return table;
}

}  // namespace

float normal_value(std::uint16_t draw) { return normal_table()[draw]; }

std::uint64_t random_bits(std::uint64_t seed, std::uint64_t stream, std::uint64_t position) {
  // Two rounds of multiply and xor-shift (the constants of the splitmix64 generator).
  std::uint64_t x = seed * 0x9e3779b97f4a7c15u + stream * 0xd1342543de82ef95u + position;
  for (int round = 0; round < 2; ++round) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    x ^= x >> 31;
  }
  return x;
}

}  // namespace fatune
