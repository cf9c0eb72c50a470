// tensor_core.cpp: Defines the layouts of mma and wgmma fragments (PTX ISA, "Matrix fragments").
#include "ptx/tensor_core.hpp"

#include <algorithm>
#include <array>

#include "ptx/half.hpp"

namespace fatune::ptx {
namespace {

constexpr std::string_view kNames[] = {"f16", "bf16", "e4m3", "e5m2"};

Dtype dtype_of(Element element) { return static_cast<Dtype>(static_cast<int>(element) + 1); }

/// Element `i` of a register.
float part(const float* table, std::size_t bytes, std::uint32_t bits, std::size_t i) {
  return table[bytes == 2 ? bits >> (16 * i) & 0xffffU : bits >> (8 * i) & 0xffU];
}

void multiply_row(const float* a, const float* b, float* __restrict sums, int n, int k) {
  for (int i = 0; i < k; ++i) {
    const float* __restrict values = b + i * n;
    for (int column = 0; column < n; ++column) sums[column] += a[i] * values[column];
  }
}

constexpr int kExponentAt = 23;  // in a float
constexpr std::int32_t kInfinity = 0x7f800000;

std::int32_t magnitude(float value) { return std::bit_cast<std::int32_t>(value) & 0x7fffffff; }

/// 2^kFp8SumBits over the power of two of a magnitude: what counts the units that are kept.
float units_of(std::int32_t largest) {
  const std::int32_t exponent = std::max(largest >> kExponentAt, kFp8SumBits + 1);
  return std::bit_cast<float>((2 * 127 + kFp8SumBits - exponent) << kExponentAt);
}

float cut_off(float sum) {
  constexpr std::uint32_t kKept = ~((1U << (kExponentAt - kFp8SumBits)) - 1U);
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(sum) & kKept);
}

constexpr int kMostColumns = 256;

/// One row of multiply_fp8, of finite values.
void add_units(const float* a, const float* b, const std::int32_t* largest, float* c, int n,
               int k) {
  std::array<float, kMostColumns> units;
  std::array<std::int32_t, kMostColumns> sums;
  for (int column = 0; column < n; ++column) {
    units[column] = units_of(largest[column]);
    sums[column] = static_cast<std::int32_t>(c[column] * units[column]);
  }
  for (int i = 0; i < k; ++i) {
    for (int column = 0; column < n; ++column)
      sums[column] += static_cast<std::int32_t>(a[i] * b[i * n + column] * units[column]);
  }
  for (int column = 0; column < n; ++column)
    c[column] = cut_off(static_cast<float>(sums[column]) / units[column]);
}

}  // namespace

std::optional<Element> element_of(std::string_view word) {
  for (std::size_t i = 0; i < std::size(kNames); ++i) {
    if (kNames[i] == word) return static_cast<Element>(i);
  }
  return std::nullopt;
}

std::size_t width(Element element) { return static_cast<std::size_t>(size_of(dtype_of(element))); }

const float* table_of(Element element) { return decode_table(dtype_of(element)).data(); }

void Accumulators::read(const Turn& turn, const Ref* refs, float* values) const {
  const auto place = [&](int row, int column) -> float& { return values[row * columns + column]; };
  for (int tile = 0; tile < columns / 8; ++tile) {
    for (int half = 0; half < 2; ++half) {
      Row<std::uint32_t> first, second;
      if (halves) {
        first = turn.read<std::uint32_t>(refs[2 * tile + half]);
      } else {
        first = turn.read<std::uint32_t>(refs[4 * tile + 2 * half]);
        second = turn.read<std::uint32_t>(refs[4 * tile + 2 * half + 1]);
      }
      for (int lane = 0; lane < kLanes; ++lane) {
        const auto at = static_cast<std::size_t>(lane);
        const int row = lane / 4 + 8 * half, column = 8 * tile + 2 * (lane % 4);
        place(row, column) =
            halves ? decoded<Dtype::kF16>(first[at]) : std::bit_cast<float>(first[at]);
        place(row, column + 1) =
            halves ? decoded<Dtype::kF16>(first[at] >> 16U) : std::bit_cast<float>(second[at]);
      }
    }
  }
}

void Accumulators::write(const Turn& turn, const Ref* refs, const float* values) const {
  for (int tile = 0; tile < columns / 8; ++tile) {
    for (int half = 0; half < 2; ++half) {
      Row<std::uint32_t> first, second;
      for (int lane = 0; lane < kLanes; ++lane) {
        const auto at = static_cast<std::size_t>(lane);
        const float* pair = values + (lane / 4 + 8 * half) * columns + 8 * tile + 2 * (lane % 4);
        first[at] = halves ? encoded<Dtype::kF16>(pair[0]) | encoded<Dtype::kF16>(pair[1]) << 16U
                           : std::bit_cast<std::uint32_t>(pair[0]);
        second[at] = std::bit_cast<std::uint32_t>(pair[1]);
      }
      if (halves) {
        turn.write(refs[2 * tile + half], first);
      } else {
        turn.write(refs[4 * tile + 2 * half], first);
        turn.write(refs[4 * tile + 2 * half + 1], second);
      }
    }
  }
}

void read_a(const Turn& turn, const Ref* refs, Element element, int columns, float* values) {
  const float* table = table_of(element);
  const std::size_t bytes = width(element), per_register = 4 / bytes;
  const int registers = 2 * columns * static_cast<int>(bytes) / 16;
  for (int i = 0; i < registers; ++i) {
    const auto bits = turn.read<std::uint32_t>(refs[i]);
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const std::size_t row = lane / 4 + 8 * static_cast<std::size_t>(i % 2);
      const std::size_t column =
          static_cast<std::size_t>(i / 2) * (16 / bytes) + lane % 4 * per_register;
      for (std::size_t j = 0; j < per_register; ++j)
        values[row * static_cast<std::size_t>(columns) + column + j] =
            part(table, bytes, bits[lane], j);
    }
  }
}

void read_b(const Turn& turn, const Ref* refs, Element element, int rows, float* values) {
  const float* table = table_of(element);
  const std::size_t bytes = width(element), per_register = 4 / bytes;
  const int registers = rows * static_cast<int>(bytes) / 16;
  for (int i = 0; i < registers; ++i) {
    const auto bits = turn.read<std::uint32_t>(refs[i]);
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const std::size_t row = static_cast<std::size_t>(i) * (16 / bytes) + lane % 4 * per_register;
      for (std::size_t j = 0; j < per_register; ++j)
        values[(row + j) * 8 + lane / 4] = part(table, bytes, bits[lane], j);
    }
  }
}

void multiply(const float* a, const float* b, float* c, int n, int k) {
  for (int row = 0; row < 16; ++row) multiply_row(a + row * k, b, c + row * n, n, k);
}

void multiply_fp8(const float* a, const float* b, float* c, int n, int k) {
  for (int row = 0; row < 16; ++row, a += k, c += n) {
    std::array<std::int32_t, kMostColumns> largest;
    std::transform(c, c + n, largest.begin(), magnitude);
    for (int i = 0; i < k; ++i) {
      for (int column = 0; column < n; ++column)
        largest[column] = std::max(largest[column], magnitude(a[i] * b[i * n + column]));
    }
    if (*std::max_element(largest.begin(), largest.begin() + n) < kInfinity) {
      add_units(a, b, largest.data(), c, n, k);
    } else {
      multiply_row(a, b, c, n, k);
    }
  }
}

}  // namespace fatune::ptx
