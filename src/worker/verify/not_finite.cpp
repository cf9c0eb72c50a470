// not_finite.cpp: Puts infinities and NaN into inputs, and finds the outputs that depend on them.
#include "worker/verify/not_finite.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

namespace fatune {
namespace {

/// In a tensor of `parts` equal parts with rows of `columns`, 16 bits an element.
void set_element(std::vector<std::byte>& bytes, std::size_t parts, const Spoilt& where,
                 std::int64_t columns, Dtype dtype, float value) {
  const auto tensor = elements<std::uint16_t>(bytes);
  const auto at = static_cast<std::size_t>(where.row * columns + where.column);
  tensor[static_cast<std::size_t>(where.part) * (tensor.size() / parts) + at] =
      encode(dtype, value);
}

}  // namespace

std::array<Spoilt, 3> spoilt_elements(const Attention& problem) {
  const std::int64_t parts = problem.batch * problem.kv_heads;
  const std::int64_t queries = problem.heads / problem.kv_heads * problem.seq_q;
  // But for windows, every row that sees a key sees the first one. The last query sees keys.
  return {{{0, queries - 1, problem.head_dim - 1},
           {1 % parts, 0, 0},
           {2 % parts, 0, problem.value_columns() / 2}}};
}

void spoil(const Attention& problem, HostInputs& inputs) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const auto parts = static_cast<std::size_t>(problem.batch * problem.kv_heads);
  const std::array<Spoilt, 3> where = spoilt_elements(problem);
  const Dtype dtype = dtype_of(problem, "q");
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  set_element(inputs.q, parts, where[0], problem.head_dim, dtype, kInfinity);
  set_element(inputs.k, parts, where[1], problem.head_dim, dtype, kNan);
  set_element(inputs.v, parts, where[2], problem.value_columns(), dtype, -kInfinity);
}

InputCase before_spoiling(InputCase which) {
  if (which.distribution == Distribution::kNotFinite) which.distribution = Distribution::kNormal;
  return which;
}

LostOutputs::LostOutputs(const Attention& problem)
    : problem_(problem), keys_(problem), elements_(spoilt_elements(problem)) {}

bool LostOutputs::has(std::int64_t head) const {
  const std::int64_t group = problem_.heads / problem_.kv_heads;
  return std::ranges::count(elements_, head / group, &Spoilt::part) > 0;
}

bool LostOutputs::must_be_lost(std::int64_t head, std::int64_t row, std::int64_t column) const {
  const std::int64_t group = problem_.heads / problem_.kv_heads;
  const std::int64_t part = head / group;
  const std::int64_t batch = head / problem_.heads, own = head % problem_.heads;
  const auto& [of_q, of_k, of_v] = elements_;
  if (part == of_k.part && keys_.has(batch, own, row, of_k.row)) return true;
  if (part == of_v.part && column == of_v.column && keys_.has(batch, own, row, of_v.row))
    return true;
  return part == of_q.part && head % group * problem_.seq_q + row == of_q.row &&
         keys_.any(batch, own, row);
}

}  // namespace fatune
