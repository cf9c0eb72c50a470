// tensor_inputs.cpp - counter-based random draws through scale and offset to elements.
#include "worker/verify/tensor_inputs.hpp"

#include <algorithm>
#include <cstdint>
#include <span>

#include "core/parallel.hpp"

namespace fatune {
namespace {

constexpr std::size_t kGroup = 4;                    // elements from one draw of 64 bits
constexpr std::size_t kGroupsOfAThread = 32 * 1024;  // chosen: some 100 us of work
constexpr std::size_t kDraws = 65536;
// Attention's tensors have the streams 1 to 3, 16 and 32 (inputs.cpp).
constexpr std::uint64_t kFirstStream = 1024, kOutlierWhere = 1 << 20, kOutlierValue = 1 << 21;
constexpr float kOutlierScale = 10;  // a standard deviation: N(0,100)

void put(const TensorPlan& tensor, double value, std::byte* at) {
  const auto single = static_cast<float>(value);
  if (!tensor.type) {
    std::copy_n(reinterpret_cast<const std::byte*>(&single), sizeof single, at);
    return;
  }
  const std::uint16_t element = encode(*tensor.type, single);
  std::copy_n(reinterpret_cast<const std::byte*>(&element), tensor.width(), at);
}

float uniform_value(std::uint16_t draw) {
  return (static_cast<float>(draw) + 0.5f) / (kDraws / 2) - 1;
}

/// Every value that an element can get, as bytes, by draw.
std::vector<std::byte> draw_table(const TensorPlan& tensor, Distribution how) {
  const bool uniform = how == Distribution::kUniform || tensor.fill.kind == Fill::Kind::kUniform;
  std::vector<std::byte> table(kDraws * tensor.width());
  for (std::size_t i = 0; i < kDraws; ++i) {
    const auto draw = static_cast<std::uint16_t>(i);
    const float value = uniform ? uniform_value(draw) : normal_value(draw);
    put(tensor, tensor.fill.offset + tensor.fill.scale * value, table.data() + i * tensor.width());
  }
  return table;
}

/// What is drawn at a place, outlier included.
double outlier_at(const TensorPlan& tensor, const InputCase& which, std::uint64_t stream,
                  std::uint64_t at, std::uint16_t draw) {
  const double drawn =
      tensor.fill.kind == Fill::Kind::kUniform ? uniform_value(draw) : normal_value(draw);
  const std::uint64_t more = random_bits(which.seed, kOutlierValue + stream, at);
  const double added = kOutlierScale * normal_value(static_cast<std::uint16_t>(more));
  return tensor.fill.offset + tensor.fill.scale * (drawn + added);
}

void draw(const TensorPlan& tensor, const InputCase& which, std::uint64_t stream,
          std::span<std::byte> bytes) {
  const std::vector<std::byte> table = draw_table(tensor, which.distribution);
  const std::size_t width = tensor.width(), elements = bytes.size() / width;
  const auto fill = [&](std::size_t begin, std::size_t end) {
    for (std::size_t group = begin; group < end; ++group) {
      const std::uint64_t bits = random_bits(which.seed, stream, group);
      const std::uint64_t where = which.distribution == Distribution::kOutliers
                                      ? random_bits(which.seed, kOutlierWhere + stream, group)
                                      : ~std::uint64_t{0};
      for (std::size_t i = 0; i < std::min(kGroup, elements - kGroup * group); ++i) {
        const std::size_t at = kGroup * group + i;
        const auto one = static_cast<std::uint16_t>(bits >> (16 * i));
        std::copy_n(table.data() + one * width, width, bytes.data() + at * width);
        if (((where >> (16 * i)) & 0x3ff) != 0) continue;
        put(tensor, outlier_at(tensor, which, stream, at, one), bytes.data() + at * width);
      }
    }
  };
  parallel_for((elements + kGroup - 1) / kGroup, kGroupsOfAThread, fill);
}

/// `stream` tells the tensors of a problem apart.
std::vector<std::byte> make_input(const TensorPlan& tensor, const InputCase& which,
                                  std::uint64_t stream) {
  std::vector<std::byte> bytes(tensor.bytes());
  const bool drawn =
      tensor.fill.kind != Fill::Kind::kConstant && which.distribution != Distribution::kZeros;
  if (drawn) {
    draw(tensor, which, kFirstStream + stream, bytes);
    return bytes;
  }
  for (std::size_t at = 0; at < bytes.size(); at += tensor.width())
    put(tensor, tensor.fill.offset, bytes.data() + at);
  return bytes;
}

}  // namespace

std::vector<HostTensor> own_inputs(const OwnPlan& plan, const InputCase& which) {
  std::vector<HostTensor> inputs;
  for (const TensorPlan& tensor : plan.inputs()) {
    const auto stream = static_cast<std::uint64_t>(inputs.size());
    inputs.push_back({tensor.name, make_input(tensor, which, stream)});
  }
  return inputs;
}

}  // namespace fatune
