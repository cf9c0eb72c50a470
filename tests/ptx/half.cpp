// half.cpp: Executes f16 and bf16 arithmetic, single and packed in pairs.
#include "ptx/half.hpp"

#include <cmath>

#include "ptx/lanes.hpp"

namespace fatune::ptx {
namespace {

using u16 = std::uint16_t;
using u32 = std::uint32_t;

struct Add {
  float operator()(float a, float b) const { return a + b; }
};
struct Subtract {
  float operator()(float a, float b) const { return a - b; }
};
struct Multiply {
  float operator()(float a, float b) const { return a * b; }
};
struct MultiplyAdd {
  float operator()(float a, float b, float c) const {
    return static_cast<float>(static_cast<double>(a) * b + c);
  }
};
struct MultiplyAddRelu {
  float operator()(float a, float b, float c) const {
    return std::fmax(MultiplyAdd()(a, b, c), 0.0F);
  }
};
struct Least {
  float operator()(float a, float b) const { return std::fmin(a, b); }
};
struct Largest {
  float operator()(float a, float b) const { return std::fmax(a, b); }
};
template <typename Work>
struct OrNan {
  float operator()(float a, float b) const {
    return std::isunordered(a, b) ? std::nanf("") : Work()(a, b);
  }
};
struct Negate {
  float operator()(float a) const { return -a; }
};
struct Absolute {
  float operator()(float a) const { return std::abs(a); }
};
struct Exp2 {
  float operator()(float a) const { return std::exp2(a); }
};
struct Tanh {
  float operator()(float a) const { return std::tanh(a); }
};

template <Dtype kType, typename Work>
struct OfHalf {
  template <typename... Bits>
  u16 operator()(Bits... bits) const {
    return static_cast<u16>(encoded<kType>(Work()(decoded<kType>(bits)...)));
  }
};
template <Dtype kType, typename Work>
struct OfPair {
  template <typename... Bits>
  u32 operator()(Bits... bits) const {
    const u32 low = encoded<kType>(Work()(decoded<kType>(bits)...));
    return low | encoded<kType>(Work()(decoded<kType>(bits >> 16U)...)) << 16U;
  }
};

template <Dtype kType>
void add_type(Table& table, const std::string& type) {
  const std::string pair = type + "x2";
  const auto one = [&]<typename Work>(const std::string& name, Work) {
    table[name + type] = {unary_of<u16, OfHalf<kType, Work>>};
    table[name + pair] = {unary_of<u32, OfPair<kType, Work>>};
  };
  const auto two = [&]<typename Work>(const std::string& name, Work) {
    table[name + type] = {binary_of<u16, OfHalf<kType, Work>>};
    table[name + pair] = {binary_of<u32, OfPair<kType, Work>>};
  };
  const auto three = [&]<typename Work>(const std::string& name, Work) {
    table[name + type] = {ternary_of<u16, OfHalf<kType, Work>>};
    table[name + pair] = {ternary_of<u32, OfPair<kType, Work>>};
  };
  for (const char* rounding : {"", ".rn"}) {
    two("add" + (rounding + std::string(".")), Add());
    two("sub" + (rounding + std::string(".")), Subtract());
    two("mul" + (rounding + std::string(".")), Multiply());
  }
  three("fma.rn.", MultiplyAdd());
  three("fma.rn.relu.", MultiplyAddRelu());
  two("min.", Least());
  two("max.", Largest());
  two("min.NaN.", OrNan<Least>());
  two("max.NaN.", OrNan<Largest>());
  one("neg.", Negate());
  one("abs.", Absolute());
  one("ex2.approx.", Exp2());
  one("ex2.approx.ftz.", Exp2());
  one("tanh.approx.", Tanh());
}

}  // namespace

void add_half(Table& table) {
  add_type<Dtype::kF16>(table, "f16");
  add_type<Dtype::kBf16>(table, "bf16");
}

}  // namespace fatune::ptx
