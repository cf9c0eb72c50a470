// quantize.cpp: Quantizes tensors with one factor a head, and offsets, averages and adds back keys.
#include "worker/verify/quantize.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

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
std::vector<float> quantize_tensor(const Attention& problem, const std::vector<std::byte>& from,
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
std::vector<float> quantize_smooth(const Attention& problem, const HostInputs& inputs,
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

constexpr std::uint64_t kOffsets = 5;  // a stream of random bits that no other input has
/// Chosen: an e4m3 kernel that keeps the offsets misses its limit by a factor of three.
constexpr float kKeyOffset = 8;

}  // namespace

void offset_keys(const Attention& problem, const InputCase& which, std::size_t head,
                 float magnitude, std::vector<std::byte>& k) {
  if (which.distribution == Distribution::kZeros) return;
  const Dtype dtype = out_dtype(problem);
  const std::span<const float> values = decode_table(dtype);
  const auto columns = static_cast<std::size_t>(problem.head_dim);
  const std::size_t size = static_cast<std::size_t>(problem.seq_kv) * columns;
  const auto keys = elements<std::uint16_t>(k).subspan(head * size, size);
  std::vector<float> offsets;
  for (std::size_t column = 0; column < columns; ++column) {
    const std::uint64_t bits = random_bits(which.seed, kOffsets, head * columns + column);
    offsets.push_back(kKeyOffset * magnitude * normal_value(static_cast<std::uint16_t>(bits)));
  }
  for (std::size_t i = 0; i < size; ++i)
    keys[i] = encode(dtype, values[keys[i]] + offsets[i % columns]);
}

std::vector<float> key_means(const Attention& problem, const HostInputs& inputs) {
  const std::span<const float> values = decode_table(out_dtype(problem));
  const auto* key = elements<std::uint16_t>(inputs.k).data();
  const auto columns = static_cast<std::size_t>(problem.head_dim);
  const auto heads = static_cast<std::size_t>(problem.batch * problem.kv_heads);
  const auto keys = static_cast<std::size_t>(problem.seq_kv);
  std::vector<float> means;
  for (std::size_t head = 0; head < heads; ++head) {
    std::vector<double> sums(columns);
    for (std::size_t i = 0; i < keys * columns; ++i) sums[i % columns] += values[*key++];
    for (const double sum : sums)
      means.push_back(static_cast<float>(sum / static_cast<double>(keys)));
  }
  return means;
}

void add_mean_scores(const Attention& problem, const HostInputs& inputs, std::span<std::byte> lse) {
  const std::span<const float> values = decode_table(out_dtype(problem));
  const auto* q = elements<std::uint16_t>(inputs.q).data();
  const std::vector<float> means = key_means(problem, inputs);
  const auto columns = static_cast<std::size_t>(problem.head_dim);
  const auto rows_of_mean =
      static_cast<std::size_t>(problem.heads / problem.kv_heads * problem.seq_q);
  for (std::size_t row = 0; row < static_cast<std::size_t>(problem.rows()); ++row) {
    const float* const mean = &means[row / rows_of_mean * columns];
    double score = 0;
    for (std::size_t i = 0; i < columns; ++i) score += double{values[*q++]} * mean[i];
    float value = 0;
    std::memcpy(&value, &lse[row * sizeof value], sizeof value);
    value += static_cast<float>(score * scale_of(problem));
    std::memcpy(&lse[row * sizeof value], &value, sizeof value);
  }
}

HostInputs quantize(const Attention& problem, const HostInputs& inputs) {
  HostInputs made;
  made.q_descale = quantize_tensor(problem, inputs.q, made.q);
  made.k_descale = smooths_k(problem) ? quantize_smooth(problem, inputs, made.k)
                                      : quantize_tensor(problem, inputs.k, made.k);
  made.v_descale = quantize_tensor(problem, inputs.v, made.v);
  return made;
}

}  // namespace fatune
