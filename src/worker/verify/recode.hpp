// recode.hpp: Applies a function to 16-bit elements on several threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/parallel.hpp"
#include "model/problem/dtype.hpp"

namespace fatune {

/// Sets element i of `to` to value(element i of `from`), rounded to `to_type`. Both may be one
/// span. `To` has the width of `to_type`. For many elements the function is called once for each of
/// the 65,536 values.
template <typename To, typename Value>
void recode(std::span<const std::uint16_t> from, Dtype from_type, std::span<To> to, Dtype to_type,
            const Value& value) {
  constexpr std::size_t kKinds = 0x10000, kOfAThread = 0x4000;
  const std::span<const float> values = decode_table(from_type);
  const auto compute = [&](std::size_t kind) {
    return static_cast<To>(encode(to_type, value(values[kind])));
  };
  const auto fill = [&](std::span<To> all, const auto& element) {
    parallel_for(all.size(), kOfAThread, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) all[i] = element(i);
    });
  };
  if (from.size() <= kKinds) return fill(to, [&](std::size_t i) { return compute(from[i]); });
  std::vector<To> table(kKinds);
  fill(std::span<To>(table), compute);
  fill(to, [&](std::size_t i) { return table[from[i]]; });
}

}  // namespace fatune
