// quantize.cpp - the largest magnitude of each head to its factor, elements divided by it.
#include "worker/verify/quantize.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>

#include "worker/verify/recode.hpp"

namespace fatune {
namespace {

/// Of 16-bit floats without their sign the order is that of whole numbers.
float largest_magnitude(std::span<const std::uint16_t> elements, Dtype type) {
  std::uint16_t largest = 0;
  for (const std::uint16_t element : elements)
    largest = std::max<std::uint16_t>(largest, element & 0x7fff);
  return decode(type, largest);
}

/// One of the three: `parts` equal parts, each with a factor.
std::vector<float> quantize_tensor(std::span<const std::byte> from, Dtype from_type, Dtype to_type,
                                   std::size_t parts, std::vector<std::byte>& to) {
  const float largest = decode(to_type, encode(to_type, std::numeric_limits<float>::infinity()));
  const auto* elements = reinterpret_cast<const std::uint16_t*>(from.data());
  const std::size_t size = from.size() / sizeof *elements / parts;
  std::vector<float> descales(parts, 1.0f);
  to.resize(size * parts);
  for (std::size_t part = 0; part < parts; ++part) {
    const std::span all(elements + part * size, size);
    const float magnitude = largest_magnitude(all, from_type);
    if (magnitude > 0) descales[part] = magnitude / largest;
    const std::span made(reinterpret_cast<std::uint8_t*>(to.data()) + part * size, size);
    recode<std::uint8_t>(all, from_type, made, to_type,
                         [&](float value) { return value / descales[part]; });
  }
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
