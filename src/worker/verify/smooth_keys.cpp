// smooth_keys.cpp: Draws column offsets, sums keys, and multiplies q with the mean key.
#include "worker/verify/smooth_keys.hpp"

#include <cstdint>
#include <cstring>

#include "worker/verify/elements.hpp"

namespace fatune {
namespace {

constexpr std::uint64_t kOffsets = 5;  // a stream of random bits that no other input has
/// Chosen: an e4m3 kernel that keeps the offsets misses its limit by a factor of three.
constexpr float kKeyOffset = 8;

}  // namespace

void offset_keys(const Problem& problem, const InputCase& which, std::size_t head, float magnitude,
                 std::vector<std::byte>& k) {
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

std::vector<float> key_means(const Problem& problem, const HostInputs& inputs) {
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

void add_mean_scores(const Problem& problem, const HostInputs& inputs, std::span<std::byte> lse) {
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

}  // namespace fatune
