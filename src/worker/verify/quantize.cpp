// quantize.cpp - the largest magnitude of each head to its factor, elements divided by it.
#include "worker/verify/quantize.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

#include "core/parallel.hpp"

namespace fatune {
namespace {

/// One of the three: `parts` equal parts, each with a factor.
std::vector<float> quantize_tensor(std::span<const std::byte> from, Dtype from_type, Dtype to_type,
                                   std::size_t parts, std::vector<std::byte>& to) {
  const std::span<const float> values = decode_table(from_type);
  const float largest = decode(to_type, encode(to_type, std::numeric_limits<float>::infinity()));
  const auto* elements = reinterpret_cast<const std::uint16_t*>(from.data());
  const std::size_t size = from.size() / sizeof *elements / parts;
  std::vector<float> descales(parts, 1.0f);
  to.resize(size * parts);
  parallel_for(parts, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t part = begin; part < end; ++part) {
      const std::span<const std::uint16_t> all(elements + part * size, size);
      float magnitude = 0;
      for (const std::uint16_t element : all)
        magnitude = std::max(magnitude, std::abs(values[element]));
      if (magnitude > 0) descales[part] = magnitude / largest;
      for (std::size_t i = 0; i < size; ++i)
        to[part * size + i] = std::byte(encode(to_type, values[all[i]] / descales[part]));
    }
  });
  return descales;
}

}  // namespace

HostInputs quantize(const Problem& problem, const HostInputs& inputs) {
  const auto parts = static_cast<std::size_t>(problem.batch * problem.kv_heads);
  HostInputs made;
  const auto take = [&](const std::vector<std::byte>& from, std::vector<std::byte>& to) {
    return quantize_tensor(from, out_dtype(problem), problem.dtype, parts, to);
  };
  made.q_descale = take(inputs.q, made.q);
  made.k_descale = take(inputs.k, made.k);
  made.v_descale = take(inputs.v, made.v);
  return made;
}

}  // namespace fatune
