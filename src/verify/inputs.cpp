// inputs.cpp - counter-based random bits through a table of quantiles to tensor elements.
#include "verify/inputs.hpp"

#include <array>
#include <cmath>
#include <cstring>
#include <string>

namespace fatune {
namespace {

constexpr std::size_t kDraws = 65536;
constexpr double kInvSqrt2Pi = 0.3989422804014327;

enum Stream : std::uint64_t {
  kQueries = 1,
  kKeys = 2,
  kValues = 3,
  kOutlierWhere = 16,
  kOutlierValue = 32
};

/// exp(-x) for x >= 0 by arithmetic alone: the library's differs between machines in the last bit.
double exp_minus(double x) {
  const double step = x / 4096;
  double result = 1 - step * (1 - step / 2 * (1 - step / 3 * (1 - step / 4 * (1 - step / 5))));
  for (int i = 0; i < 12; ++i) result *= result;
  return result;
}

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

float uniform_value(std::uint16_t draw) {
  return (2.0f * static_cast<float>(draw) + 1.0f) / 65536.0f - 1.0f;
}

/// The element of every draw, rounded once for the whole tensor.
std::vector<std::uint16_t> element_table(Dtype dtype, bool uniform, float factor) {
  std::vector<std::uint16_t> table(kDraws);
  for (std::size_t draw = 0; draw < kDraws; ++draw) {
    const auto bits = static_cast<std::uint16_t>(draw);
    table[draw] = encode(dtype, factor * (uniform ? uniform_value(bits) : normal_value(bits)));
  }
  return table;
}

void put(std::vector<std::byte>& tensor, std::size_t index, std::uint16_t element,
         std::size_t width) {
  std::memcpy(tensor.data() + index * width, &element,
              width);  // little-endian: the low byte comes first
}

struct TensorRecipe {
  Stream stream;
  std::int64_t elements;
  float factor;  ///< 0: all zeros
};

std::vector<std::byte> make_tensor(Dtype dtype, const InputCase& which,
                                   const TensorRecipe& recipe) {
  const auto width = static_cast<std::size_t>(size_of(dtype));
  const auto elements = static_cast<std::size_t>(recipe.elements);
  std::vector<std::byte> tensor(elements * width);
  if (recipe.factor == 0) return tensor;
  const auto table =
      element_table(dtype, which.distribution == Distribution::kUniform, recipe.factor);
  for (std::size_t first = 0; first < elements; first += 4) {
    const std::uint64_t bits = random_bits(which.seed, recipe.stream, first / 4);
    const std::size_t count = std::min<std::size_t>(4, elements - first);
    for (std::size_t i = 0; i < count; ++i)
      put(tensor, first + i, table[(bits >> (16 * i)) & 0xffff], width);
  }
  return tensor;
}

/// Adds N(0,100) to one element in 1024.
void add_outliers(std::vector<std::byte>& tensor, Dtype dtype, const InputCase& which,
                  Stream stream) {
  const auto width = static_cast<std::size_t>(size_of(dtype));
  const std::size_t elements = tensor.size() / width;
  for (std::size_t first = 0; first < elements; first += 4) {
    const std::uint64_t where = random_bits(which.seed, kOutlierWhere + stream, first / 4);
    for (std::size_t i = 0; i < 4 && first + i < elements; ++i) {
      if (((where >> (16 * i)) & 0x3ff) != 0) continue;
      std::uint16_t element = 0;
      std::memcpy(&element, tensor.data() + (first + i) * width, width);
      const std::uint64_t draw = random_bits(which.seed, kOutlierValue + stream, first + i);
      const float sum =
          decode(dtype, element) + 10.0f * normal_value(static_cast<std::uint16_t>(draw));
      put(tensor, first + i, encode(dtype, sum), width);
    }
  }
}

}  // namespace

std::string_view name(Distribution distribution) {
  switch (distribution) {
    case Distribution::kNormal:
      return "normal";
    case Distribution::kUniform:
      return "uniform";
    case Distribution::kOutliers:
      return "outliers";
    case Distribution::kLargeLogits:
      return "large_logits";
    case Distribution::kZeros:
      return "zeros";
  }
  return "normal";
}

Result<Distribution> parse_distribution(std::string_view text) {
  for (const Distribution each :
       {Distribution::kNormal, Distribution::kUniform, Distribution::kOutliers,
        Distribution::kLargeLogits, Distribution::kZeros}) {
    if (name(each) == text) return each;
  }
  return usage_error("unknown distribution '" + std::string(text) +
                     "' (normal, uniform, outliers, large_logits, zeros)");
}

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

HostInputs make_inputs(const Problem& problem, const InputCase& which, int v_doublings) {
  const bool zeros = which.distribution == Distribution::kZeros;
  const float q_factor = which.distribution == Distribution::kLargeLogits ? 8.0f : 1.0f;
  const float v_factor = std::ldexp(1.0f, v_doublings);
  HostInputs inputs;
  inputs.q =
      make_tensor(problem.dtype, which, {kQueries, problem.query_elements(), zeros ? 0 : q_factor});
  inputs.k = make_tensor(problem.dtype, which, {kKeys, problem.key_elements(), zeros ? 0 : 1.0f});
  inputs.v = make_tensor(problem.dtype, which, {kValues, problem.key_elements(), v_factor});
  if (which.distribution == Distribution::kOutliers) {
    add_outliers(inputs.q, problem.dtype, which, kQueries);
    add_outliers(inputs.k, problem.dtype, which, kKeys);
    add_outliers(inputs.v, problem.dtype, which, kValues);
  }
  return inputs;
}

}  // namespace fatune
