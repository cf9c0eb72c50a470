// half.cpp: Executes f16 and bf16 arithmetic, single and packed in pairs.
#include "ptx/half.hpp"

#include <cmath>

#include "ptx/lanes.hpp"
#include "ptx/operations.hpp"

namespace fatune::ptx {
namespace {

using u16 = std::uint16_t;
using u32 = std::uint32_t;

constexpr auto kMultiplyAddRelu = [](float a, float b, float c) {
  return std::fmax(kMultiplyAdd(a, b, c), 0.0F);
};
template <auto kWork>
constexpr auto kOrNan =
    [](float a, float b) { return std::isunordered(a, b) ? std::nanf("") : kWork(a, b); };
constexpr auto kExp2 = [](float a) { return std::exp2(a); };

template <Dtype kType, auto kWork>
constexpr auto kOfHalf =
    [](auto... bits) { return static_cast<u16>(encoded<kType>(kWork(decoded<kType>(bits)...))); };
template <Dtype kType, auto kWork>
constexpr auto kOfPair = [](auto... bits) {
  const u32 low = encoded<kType>(kWork(decoded<kType>(bits)...));
  return low | encoded<kType>(kWork(decoded<kType>(bits >> 16U)...)) << 16U;
};

template <Dtype kType>
struct Adder {
  Table& table;
  std::string type;

  template <auto kWork>
  void one(const std::string& name) {
    table[name + type] = {unary_of<u16, kOfHalf<kType, kWork>>};
    table[name + type + "x2"] = {unary_of<u32, kOfPair<kType, kWork>>};
  }
  template <auto kWork>
  void two(const std::string& name) {
    table[name + type] = {binary_of<u16, kOfHalf<kType, kWork>>};
    table[name + type + "x2"] = {binary_of<u32, kOfPair<kType, kWork>>};
  }
  template <auto kWork>
  void three(const std::string& name) {
    table[name + type] = {ternary_of<u16, kOfHalf<kType, kWork>>};
    table[name + type + "x2"] = {ternary_of<u32, kOfPair<kType, kWork>>};
  }
  void add_all() {
    for (const std::string rounding : {".", ".rn."}) {
      two<kAdd>("add" + rounding);
      two<kSubtract>("sub" + rounding);
      two<kMultiply>("mul" + rounding);
    }
    three<kMultiplyAdd>("fma.rn.");
    three<kMultiplyAddRelu>("fma.rn.relu.");
    two<kLeast>("min.");
    two<kLargest>("max.");
    two<kOrNan<kLeast>>("min.NaN.");
    two<kOrNan<kLargest>>("max.NaN.");
    one<kNegate>("neg.");
    one<kExp2>("ex2.approx.");
    one<kExp2>("ex2.approx.ftz.");
  }
};

}  // namespace

void add_half(Table& table) {
  Adder<Dtype::kF16>{table, "f16"}.add_all();
  Adder<Dtype::kBf16>{table, "bf16"}.add_all();
}

}  // namespace fatune::ptx
