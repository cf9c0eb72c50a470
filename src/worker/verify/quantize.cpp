// quantize.cpp - the largest magnitude of each head to its factor, elements divided by it.
#include "worker/verify/quantize.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

#include "worker/verify/recode.hpp"
#include "worker/verify/smooth_keys.hpp"

namespace fatune {
namespace {

/// Of 16-bit floats without their sign the order is that of whole numbers.
float largest_magnitude(std::span<const std::uint16_t> elements, Dtype type) {
  std::uint16_t largest = 0;
  for (const std::uint16_t element : elements)
    largest = std::max<std::uint16_t>(largest, element & 0x7fff);
  return decode(type, largest);
}

float largest_number(Dtype fp8) {
  return decode(fp8, encode(fp8, std::numeric_limits<float>::infinity()));
}

/// One of the three: `parts` equal parts, each with a factor.
std::vector<float> quantize_tensor(std::span<const std::byte> from, Dtype from_type, Dtype to_type,
                                   std::size_t parts, std::vector<std::byte>& to) {
  const float largest = largest_number(to_type);
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

/// As quantize_tensor(), of k without its mean.
std::vector<float> quantize_smooth(const Problem& problem, const HostInputs& inputs,
                                   std::vector<std::byte>& to) {
  const std::span<const float> values = decode_table(out_dtype(problem));
  const auto* elements = reinterpret_cast<const std::uint16_t*>(inputs.k.data());
  const std::vector<float> means = key_means(problem, inputs);
  const auto columns = static_cast<std::size_t>(problem.head_dim);
  const std::size_t size = static_cast<std::size_t>(problem.seq_kv) * columns;
  const auto largest = largest_number(problem.dtype);
  std::vector<float> descales;
  for (std::size_t head = 0; head * columns < means.size(); ++head) {
    const auto smooth = [&](std::size_t i) {
      return values[elements[head * size + i]] - means[head * columns + i % columns];
    };
    float magnitude = 0;
    for (std::size_t i = 0; i < size; ++i) magnitude = std::max(magnitude, std::abs(smooth(i)));
    descales.push_back(magnitude > 0 ? magnitude / largest : 1);
    for (std::size_t i = 0; i < size; ++i)
      to.push_back(static_cast<std::byte>(encode(problem.dtype, smooth(i) / descales.back())));
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
  made.k_descale =
      smooths_k(problem) ? quantize_smooth(problem, inputs, made.k) : take(inputs.k, made.k);
  made.v_descale = take(inputs.v, made.v);
  return made;
}

}  // namespace fatune
