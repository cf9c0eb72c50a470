// quantize.cpp: Quantizes q, k and v to fp8, with one factor a head by its largest magnitude.
#include "worker/verify/quantize.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

#include "worker/verify/elements.hpp"
#include "worker/verify/recode.hpp"
#include "worker/verify/smooth_keys.hpp"

namespace fatune {
namespace {

/// The magnitudes of 16-bit floats have the order of their bit patterns.
float largest_magnitude(std::span<const std::uint16_t> elements, Dtype type) {
  std::uint16_t largest = 0;
  for (const std::uint16_t element : elements)
    largest = std::max<std::uint16_t>(largest, element & 0x7fff);
  return decode(type, largest);
}

float largest_number(Dtype fp8) {
  return decode(fp8, encode(fp8, std::numeric_limits<float>::infinity()));
}

/// Quantizes q, k or v. The query heads that read a key head are neighbours and share a factor.
std::vector<float> quantize_tensor(const Problem& problem, const std::vector<std::byte>& from,
                                   std::vector<std::byte>& to) {
  const Dtype from_type = out_dtype(problem);
  const float largest = largest_number(problem.dtype);
  const auto all = elements<std::uint16_t>(from);
  to.resize(all.size());
  const auto made = elements<std::uint8_t>(to);
  std::vector<float> descales;
  const std::size_t count = all.size() / static_cast<std::size_t>(problem.batch * problem.kv_heads);
  for (std::size_t first = 0; first < all.size(); first += count) {
    const float magnitude = largest_magnitude(all.subspan(first, count), from_type);
    const float descale = magnitude > 0 ? magnitude / largest : 1;
    recode<std::uint8_t>(all.subspan(first, count), from_type, made.subspan(first, count),
                         problem.dtype, [&](float value) { return value / descale; });
    descales.push_back(descale);
  }
  return descales;
}

/// Quantizes k without its mean, as quantize_tensor() does other tensors.
std::vector<float> quantize_smooth(const Problem& problem, const HostInputs& inputs,
                                   std::vector<std::byte>& to) {
  const std::span<const float> values = decode_table(out_dtype(problem));
  const auto keys = elements<std::uint16_t>(inputs.k);
  const std::vector<float> means = key_means(problem, inputs);
  const auto columns = static_cast<std::size_t>(problem.head_dim);
  const std::size_t size = static_cast<std::size_t>(problem.seq_kv) * columns;
  const auto largest = largest_number(problem.dtype);
  std::vector<float> descales;
  for (std::size_t head = 0; head * columns < means.size(); ++head) {
    const auto smooth = [&](std::size_t i) {
      return values[keys[head * size + i]] - means[head * columns + i % columns];
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
  HostInputs made;
  made.q_descale = quantize_tensor(problem, inputs.q, made.q);
  made.k_descale = smooths_k(problem) ? quantize_smooth(problem, inputs, made.k)
                                      : quantize_tensor(problem, inputs.k, made.k);
  made.v_descale = quantize_tensor(problem, inputs.v, made.v);
  return made;
}

}  // namespace fatune
