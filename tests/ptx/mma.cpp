// mma.cpp: Executes mma.sync of f16, bf16 and fp8: a matrix product of a warp's registers.
#include "ptx/handlers.hpp"
#include "ptx/tensor_core.hpp"

namespace fatune::ptx {
namespace {

using u64 = std::uint64_t;

struct Shape {
  int k = 16;
  Element a = Element::kF16, b = Element::kF16;
  bool halves = false;  ///< f16 accumulators
};

/// mma d, a, b, c: m16n8k8 to m16n8k32. Of fp8 the sums keep all bits, as on Hopper, which unpacks
/// its operands to f16; Ada keeps those that wgmma does.
Step product(Turn& turn) {
  const Shape shape = turn.at.detail_as<Shape>();
  const Accumulators accumulators{8, shape.halves};
  const Ref* a = turn.at.refs + accumulators.registers();
  const Ref* b = a + 2 * shape.k * static_cast<int>(width(shape.a)) / 16;
  const Ref* c = b + shape.k * static_cast<int>(width(shape.b)) / 16;
  float sums[16 * 8], left[16 * 32], right[32 * 8];
  accumulators.read(turn, c, sums);
  read_a(turn, a, shape.a, shape.k, left);
  read_b(turn, b, shape.b, shape.k, right);
  multiply(left, right, sums, 8, shape.k);
  turn.machine.products += static_cast<u64>(16 * 8 * shape.k);
  accumulators.write(turn, turn.at.refs, sums);
  return Step::kNext;
}

}  // namespace

/// mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32.
std::optional<Meaning> mma_meaning(const Parts& parts) {
  if (parts.size() < 10 || parts[0] != "mma" || parts[1] != "sync" || parts[2] != "aligned")
    return std::nullopt;
  if (!parts[3].starts_with("m16n8k") || parts[4] != "row" || parts[5] != "col")
    return std::nullopt;
  const std::span<const std::string> types = std::span(parts).last(4);
  const auto a = element_of(types[1]), b = element_of(types[2]);
  if (parts.size() != 10 || !a || !b || width(*a) != width(*b)) return std::nullopt;
  if (types[0] != types[3] || (types[0] != "f32" && types[0] != "f16")) return std::nullopt;
  const int k = std::stoi(parts[3].substr(6));
  const int bytes = k * static_cast<int>(width(*a));
  if (bytes != 16 && bytes != 32) return std::nullopt;
  return Meaning{product, Collective::kWarp, 0, detail(Shape{k, *a, *b, types[0] == "f16"})};
}

}  // namespace fatune::ptx
