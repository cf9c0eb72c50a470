// float.cpp: Executes f32 arithmetic and the approximate functions.
#include <cmath>
#include <limits>

#include "ptx/lanes.hpp"
#include "ptx/operations.hpp"

namespace fatune::ptx {
namespace {

constexpr float kLeastNormal = std::numeric_limits<float>::min();

/// Subnormal numbers to zero of their sign, where the opcode says .ftz.
template <bool kFlush>
float flushed(float x) {
  return kFlush && std::abs(x) < kLeastNormal ? std::copysign(0.0F, x) : x;
}

constexpr auto kDivide = [](float a, float b) { return a / b; };
constexpr auto kMultiplyAddDown = [](float a, float b, float c) {
  const double exact = static_cast<double>(a) * b + c;
  const auto rounded = static_cast<float>(exact);
  const bool above = static_cast<double>(rounded) > exact;
  return above ? std::nextafter(rounded, -std::numeric_limits<float>::infinity()) : rounded;
};
constexpr auto kAbsolute = [](float a) { return std::abs(a); };
constexpr auto kReciprocal = [](float a) { return 1 / a; };
constexpr auto kRoot = [](float a) { return std::sqrt(a); };
constexpr auto kExp2 = [](float a) { return std::exp2(a); };
constexpr auto kCopySign = [](float sign, float a) { return std::copysign(a, sign); };
constexpr auto kLog2 = [](float a) { return std::log2(a); };

template <auto kWork, bool kFlush>
constexpr auto kFlushing = [](auto... x) { return flushed<kFlush>(kWork(flushed<kFlush>(x)...)); };

template <bool kFlush>
void add_singles(Table& table, const std::string& type) {
  for (const char* rounding : {"", ".rn"}) {
    table["add" + (rounding + type)] = {binary_of<float, kFlushing<kAdd, kFlush>>};
    table["sub" + (rounding + type)] = {binary_of<float, kFlushing<kSubtract, kFlush>>};
    table["mul" + (rounding + type)] = {binary_of<float, kFlushing<kMultiply, kFlush>>};
  }
  for (const char* division : {"div.rn", "div.approx", "div.full"})
    table[division + type] = {binary_of<float, kFlushing<kDivide, kFlush>>};
  for (const char* kind : {".rn", ".approx"}) {
    table["rcp" + (kind + type)] = {unary_of<float, kFlushing<kReciprocal, kFlush>>};
    table["sqrt" + (kind + type)] = {unary_of<float, kFlushing<kRoot, kFlush>>};
  }
  table["fma.rn" + type] = {ternary_of<float, kFlushing<kMultiplyAdd, kFlush>>};
  table["fma.rm" + type] = {ternary_of<float, kFlushing<kMultiplyAddDown, kFlush>>};
  table["min" + type] = {binary_of<float, kFlushing<kLeast, kFlush>>};
  table["max" + type] = {binary_of<float, kFlushing<kLargest, kFlush>>};
  if (!kFlush) table["copysign" + type] = {binary_of<float, kFlushing<kCopySign, kFlush>>};
  table["neg" + type] = {unary_of<float, kFlushing<kNegate, kFlush>>};
  table["abs" + type] = {unary_of<float, kFlushing<kAbsolute, kFlush>>};
  table["ex2.approx" + type] = {unary_of<float, kFlushing<kExp2, kFlush>>};
  table["lg2.approx" + type] = {unary_of<float, kFlushing<kLog2, kFlush>>};
}

}  // namespace

void add_float(Table& table) {
  add_singles<false>(table, ".f32");
  add_singles<true>(table, ".ftz.f32");
}

}  // namespace fatune::ptx
