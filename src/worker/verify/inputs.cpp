// inputs.cpp - counter-based random bits through a table of quantiles to tensor elements.
#include "worker/verify/inputs.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string>
#include <utility>

#include "core/fields.hpp"
#include "core/parallel.hpp"

namespace fatune {
namespace {

constexpr std::size_t kDraws = 65536;
constexpr std::size_t kGroup = 4;                    // elements from one draw of 64 bits
constexpr std::size_t kGroupsOfAThread = 32 * 1024;  // chosen: some 100 us of work
constexpr float kLastValue = 64;  // chosen: seen by a row that must not see it, it adds 64/S
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
template <typename Element>
std::vector<Element> element_table(Dtype dtype, bool uniform, float factor) {
  std::vector<Element> table(kDraws);
  for (std::size_t draw = 0; draw < kDraws; ++draw) {
    const auto bits = static_cast<std::uint16_t>(draw);
    table[draw] = static_cast<Element>(
        encode(dtype, factor * (uniform ? uniform_value(bits) : normal_value(bits))));
  }
  return table;
}

struct TensorRecipe {
  Stream stream;
  std::int64_t elements;
  float factor;           ///< 0: all zeros
  bool constant = false;  ///< every element is the factor
};

template <typename Element>
Element element_of(Dtype dtype, float value) {
  return static_cast<Element>(encode(dtype, value));
}

/// Four elements for every 64 random bits.
template <typename Element>
void fill_random(std::span<Element> tensor, Dtype dtype, const InputCase& which,
                 const TensorRecipe& recipe) {
  const auto table =
      element_table<Element>(dtype, which.distribution == Distribution::kUniform, recipe.factor);
  const auto fill = [&](std::size_t begin, std::size_t end) {
    for (std::size_t group = begin; group < end; ++group) {
      const std::uint64_t bits = random_bits(which.seed, recipe.stream, group);
      const std::size_t count = std::min(kGroup, tensor.size() - kGroup * group);
      for (std::size_t i = 0; i < count; ++i)
        tensor[kGroup * group + i] = table[(bits >> (16 * i)) & 0xffff];
    }
  };
  parallel_for((tensor.size() + kGroup - 1) / kGroup, kGroupsOfAThread, fill);
}

/// Adds N(0,100) to one element in 1024.
template <typename Element>
void add_outliers(std::span<Element> tensor, Dtype dtype, const InputCase& which, Stream stream) {
  const auto add = [&](std::size_t begin, std::size_t end) {
    for (std::size_t at = kGroup * begin; at < std::min(kGroup * end, tensor.size()); ++at) {
      const std::uint64_t where = random_bits(which.seed, kOutlierWhere + stream, at / kGroup);
      if (((where >> (16 * (at % kGroup))) & 0x3ff) != 0) continue;
      const std::uint64_t draw = random_bits(which.seed, kOutlierValue + stream, at);
      const float sum =
          decode(dtype, tensor[at]) + 10.0f * normal_value(static_cast<std::uint16_t>(draw));
      tensor[at] = element_of<Element>(dtype, sum);
    }
  };
  parallel_for((tensor.size() + kGroup - 1) / kGroup, kGroupsOfAThread, add);
}

/// The elements of a tensor; `bytes` come from the allocator, aligned for any of them.
template <typename Element>
std::span<Element> elements(std::vector<std::byte>& bytes) {
  return {reinterpret_cast<Element*>(bytes.data()), bytes.size() / sizeof(Element)};
}

template <typename Element>
std::vector<std::byte> make_tensor(Dtype dtype, const InputCase& which,
                                   const TensorRecipe& recipe) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(recipe.elements) * sizeof(Element));
  if (recipe.factor == 0) return bytes;
  const std::span<Element> tensor = elements<Element>(bytes);
  if (recipe.constant) {
    std::fill(tensor.begin(), tensor.end(), element_of<Element>(dtype, recipe.factor));
    return bytes;
  }
  fill_random(tensor, dtype, which, recipe);
  if (which.distribution == Distribution::kOutliers) {
    add_outliers(tensor, dtype, which, recipe.stream);
  }
  return bytes;
}

/// Every column of the last key's value, in every head.
template <typename Element>
void set_last_values(const Problem& problem, float value, std::vector<std::byte>& bytes) {
  const std::span<Element> tensor = elements<Element>(bytes);
  const auto row = static_cast<std::size_t>(problem.head_dim);
  const auto head = static_cast<std::size_t>(problem.seq_kv) * row;
  for (std::size_t end = head; end <= tensor.size(); end += head) {
    std::fill_n(tensor.begin() + static_cast<std::ptrdiff_t>(end - row), row,
                element_of<Element>(problem.dtype, value));
  }
}

template <typename Element>
HostInputs make_elements(const Problem& problem, const InputCase& which, int v_doublings) {
  const Distribution how = which.distribution;
  const bool zeros = how == Distribution::kZeros;
  const float q_factor = zeros || how == Distribution::kZeroQ ? 0.0f
                         : how == Distribution::kLargeLogits  ? 8.0f
                                                              : 1.0f;
  const float v_factor = std::ldexp(1.0f, v_doublings);
  HostInputs inputs;
  inputs.q =
      make_tensor<Element>(problem.dtype, which, {kQueries, problem.query_elements(), q_factor});
  inputs.k = make_tensor<Element>(problem.dtype, which,
                                  {kKeys, problem.key_elements(), zeros ? 0.0f : 1.0f});
  inputs.v = make_tensor<Element>(
      problem.dtype, which,
      {kValues, problem.key_elements(), v_factor, how == Distribution::kOnesV});
  if (how == Distribution::kLastKey)
    set_last_values<Element>(problem, kLastValue * v_factor, inputs.v);
  return inputs;
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

HostInputs make_inputs(const Problem& problem, const InputCase& which, int v_doublings) {
  return size_of(problem.dtype) == 1 ? make_elements<std::uint8_t>(problem, which, v_doublings)
                                     : make_elements<std::uint16_t>(problem, which, v_doublings);
}

}  // namespace fatune
