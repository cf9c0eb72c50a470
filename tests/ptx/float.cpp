// float.cpp: Executes f32 and f64 arithmetic and the approximate functions.
#include <cmath>
#include <limits>

#include "ptx/lanes.hpp"

namespace fatune::ptx {
namespace {

constexpr float kLeastNormal = std::numeric_limits<float>::min();

/// Subnormal numbers to zero of their sign, where the opcode says .ftz.
template <bool kFlush>
float flushed(float x) {
  return kFlush && std::abs(x) < kLeastNormal ? std::copysign(0.0F, x) : x;
}

struct Add {
  template <typename T>
  T operator()(T a, T b) const {
    return a + b;
  }
};
struct Subtract {
  template <typename T>
  T operator()(T a, T b) const {
    return a - b;
  }
};
struct Multiply {
  template <typename T>
  T operator()(T a, T b) const {
    return a * b;
  }
};
struct Divide {
  template <typename T>
  T operator()(T a, T b) const {
    return a / b;
  }
};
/// One operand where the other is NaN.
struct Least {
  template <typename T>
  T operator()(T a, T b) const {
    if (std::isnan(a)) return b;
    return b < a ? b : a;
  }
};
struct Largest {
  template <typename T>
  T operator()(T a, T b) const {
    if (std::isnan(a)) return b;
    return b > a ? b : a;
  }
};
/// The product of two f32 is exact in f64; the second rounding of the sum is a tie's tail at most.
struct MultiplyAdd {
  float operator()(float a, float b, float c) const {
    return static_cast<float>(static_cast<double>(a) * b + c);
  }
  double operator()(double a, double b, double c) const { return std::fma(a, b, c); }
};
struct MultiplyAddDown {
  float operator()(float a, float b, float c) const {
    const double exact = static_cast<double>(a) * b + c;
    const auto rounded = static_cast<float>(exact);
    const bool above = static_cast<double>(rounded) > exact;
    return above ? std::nextafter(rounded, -std::numeric_limits<float>::infinity()) : rounded;
  }
};
struct Negate {
  template <typename T>
  T operator()(T a) const {
    return -a;
  }
};
struct Absolute {
  template <typename T>
  T operator()(T a) const {
    return std::abs(a);
  }
};
struct Reciprocal {
  template <typename T>
  T operator()(T a) const {
    return 1 / a;
  }
};
struct Root {
  template <typename T>
  T operator()(T a) const {
    return std::sqrt(a);
  }
};
struct ReciprocalRoot {
  float operator()(float a) const {
    return static_cast<float>(1 / std::sqrt(static_cast<double>(a)));
  }
};
struct Exp2 {
  float operator()(float a) const { return std::exp2(a); }
};
struct Log2 {
  float operator()(float a) const { return std::log2(a); }
};
struct Sine {
  float operator()(float a) const { return std::sin(a); }
};
struct Cosine {
  float operator()(float a) const { return std::cos(a); }
};
struct Tanh {
  float operator()(float a) const { return std::tanh(a); }
};
struct CopySign {
  float operator()(float sign, float a) const { return std::copysign(a, sign); }
};

template <typename Work, bool kFlush>
struct Flushing {
  template <typename... Floats>
  float operator()(Floats... x) const {
    return flushed<kFlush>(Work()(flushed<kFlush>(x)...));
  }
};

template <bool kFlush>
void add_singles(Table& table, const std::string& type) {
  for (const char* rounding : {"", ".rn"}) {
    table["add" + (rounding + type)] = {binary_of<float, Flushing<Add, kFlush>>};
    table["sub" + (rounding + type)] = {binary_of<float, Flushing<Subtract, kFlush>>};
    table["mul" + (rounding + type)] = {binary_of<float, Flushing<Multiply, kFlush>>};
  }
  for (const char* division : {"div.rn", "div.approx", "div.full"})
    table[division + type] = {binary_of<float, Flushing<Divide, kFlush>>};
  for (const char* kind : {".rn", ".approx"}) {
    table["rcp" + (kind + type)] = {unary_of<float, Flushing<Reciprocal, kFlush>>};
    table["sqrt" + (kind + type)] = {unary_of<float, Flushing<Root, kFlush>>};
  }
  table["fma.rn" + type] = {ternary_of<float, Flushing<MultiplyAdd, kFlush>>};
  table["fma.rm" + type] = {ternary_of<float, Flushing<MultiplyAddDown, kFlush>>};
  table["min" + type] = {binary_of<float, Flushing<Least, kFlush>>};
  table["max" + type] = {binary_of<float, Flushing<Largest, kFlush>>};
  table["neg" + type] = {unary_of<float, Flushing<Negate, kFlush>>};
  table["abs" + type] = {unary_of<float, Flushing<Absolute, kFlush>>};
  table["rsqrt.approx" + type] = {unary_of<float, Flushing<ReciprocalRoot, kFlush>>};
  table["ex2.approx" + type] = {unary_of<float, Flushing<Exp2, kFlush>>};
  table["lg2.approx" + type] = {unary_of<float, Flushing<Log2, kFlush>>};
  table["sin.approx" + type] = {unary_of<float, Flushing<Sine, kFlush>>};
  table["cos.approx" + type] = {unary_of<float, Flushing<Cosine, kFlush>>};
}

}  // namespace

void add_float(Table& table) {
  add_singles<false>(table, ".f32");
  add_singles<true>(table, ".ftz.f32");
  table["tanh.approx.f32"] = {unary_of<float, Tanh>};
  table["copysign.f32"] = {binary_of<float, CopySign>};
  for (const char* rounding : {"", ".rn"}) {
    table[std::string("add") + rounding + ".f64"] = {binary_of<double, Add>};
    table[std::string("sub") + rounding + ".f64"] = {binary_of<double, Subtract>};
    table[std::string("mul") + rounding + ".f64"] = {binary_of<double, Multiply>};
  }
  table["fma.rn.f64"] = {ternary_of<double, MultiplyAdd>};
  table["div.rn.f64"] = {binary_of<double, Divide>};
  table["min.f64"] = {binary_of<double, Least>};
  table["max.f64"] = {binary_of<double, Largest>};
  table["neg.f64"] = {unary_of<double, Negate>};
  table["abs.f64"] = {unary_of<double, Absolute>};
  table["sqrt.rn.f64"] = {unary_of<double, Root>};
}

}  // namespace fatune::ptx
