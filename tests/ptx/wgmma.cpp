// wgmma.cpp: Executes wgmma.mma_async: a warp's 16 rows of a warpgroup's product. B, and optionally
// A, is read from shared memory by descriptor. The product is computed when a wait needs it.
#include <fmt/format.h>

#include "ptx/access.hpp"
#include "ptx/handlers.hpp"
#include "ptx/pending.hpp"
#include "ptx/tensor_core.hpp"

namespace fatune::ptx {
namespace {

using u64 = std::uint64_t;

struct Shape {
  std::uint16_t n = 64;
  std::uint8_t k = 16;
  Element a = Element::kF16, b = Element::kF16;
  bool halves = false;  ///< f16 accumulators
};

/// A matrix in shared memory: lines of M or N, each with elements along K, or across.
struct Descriptor {
  u64 start = 0, leading = 0, stride = 0;  ///< bytes
  u64 span = 16;                           ///< bytes of a row of the swizzle's atom; 16: none

  static Descriptor of(u64 bits) {
    static constexpr u64 kSpans[] = {16, 128, 64, 32};
    return {(bits & 0x3fffU) << 4U, (bits >> 16U & 0x3fffU) << 4U, (bits >> 32U & 0x3fffU) << 4U,
            kSpans[bits >> 62U]};
  }
  u64 swizzled(u64 address) const { return address ^ (address >> 3U & (span - 16)); }

  /// Address in a K-major line: an atom's eight lines lie `span` bytes apart, atoms `stride`.
  u64 k_major(u64 line, u64 k_bytes) const {
    const u64 across = span == 16 ? k_bytes / 16 * leading + k_bytes % 16 : k_bytes;
    return swizzled(start + line / 8 * stride + line % 8 * span + across);
  }
  /// MN-major: rows of an atom are along K, `span` bytes of lines each.
  u64 mn_major(u64 line_bytes, u64 k) const {
    const u64 atom = line_bytes / span, rest = line_bytes % span;
    const u64 along = span == 16 ? stride : leading, deep = span == 16 ? leading : stride;
    return swizzled(start + atom * along + k / 8 * deep + k % 8 * span + rest);
  }
};

/// Lines `first` to `first + lines` of a matrix, to values[line * line_step + k * k_step].
struct SharedMatrix {
  Element element;
  int first = 0, lines = 0, k = 0;
  bool mn_major = false;
  int line_step = 1, k_step = 1;
};

bool read_shared(Turn& turn, const PendingMma& product, u64 bits, const SharedMatrix& matrix,
                 float* values) {
  const Descriptor descriptor = Descriptor::of(bits);
  const float* table = table_of(matrix.element);
  const u64 bytes = width(matrix.element);
  const u64 rank = static_cast<u64>(turn.cta.rank) << kRankShift;
  for (int line = 0; line < matrix.lines; ++line) {
    const auto index = static_cast<u64>(matrix.first + line);
    for (int k = 0; k < matrix.k; ++k) {
      const auto depth = static_cast<u64>(k);
      const u64 address = matrix.mn_major ? descriptor.mn_major(index * bytes, depth)
                                          : descriptor.k_major(index, depth * bytes);
      const std::byte* at =
          locate_shared(turn.machine, turn.cluster, rank | address, bytes, product.instruction);
      if (at == nullptr) return false;
      std::uint16_t element = 0;
      std::memcpy(&element, at, bytes);
      values[line * matrix.line_step + k * matrix.k_step] = table[element];
    }
  }
  return true;
}

/// Where the operands of an instruction are: d, a, b, add, scales, and which are MN-major.
struct Operands {
  const Ref* d;
  const Ref* a;  ///< a descriptor, or four registers
  const Ref* rest;
  bool a_in_registers;
};

Operands operands_of(const Instruction& at, const Shape& shape) {
  const int sums = Accumulators{shape.n, shape.halves}.registers();
  const Ref* a = at.refs + sums;
  const bool registers = a->bits != 64;
  return {at.refs, a, a + (registers ? 4 : 1), registers};
}

std::int32_t immediate(const Turn& turn, const Ref& ref) { return turn.read<std::int32_t>(ref)[0]; }

bool carry_out(Turn& turn, const PendingMma& product) {
  const Instruction& at = turn.machine.program.instructions[product.instruction];
  const Shape shape = at.detail_as<Shape>();
  const Operands operands = operands_of(at, shape);
  const auto rest = static_cast<int>(at.refs + at.count - operands.rest);
  // b, add, scale a, scale b; then which operands in shared memory are MN-major.
  const bool a_across =
      !operands.a_in_registers && rest > 5 && immediate(turn, operands.rest[4]) != 0;
  const bool b_across = rest > 4 && immediate(turn, operands.rest[rest - 1]) != 0;
  std::vector<float> sums(static_cast<std::size_t>(16 * shape.n));
  std::vector<float> left(static_cast<std::size_t>(16 * shape.k));
  std::vector<float> right(static_cast<std::size_t>(shape.k * shape.n));
  const Accumulators accumulators{shape.n, shape.halves};
  if (product.add) accumulators.read(turn, operands.d, sums.data());
  if (operands.a_in_registers) {
    read_a(turn, operands.a, shape.a, shape.k, left.data());
  } else {
    const SharedMatrix matrix{shape.a, 16 * (turn.warp.index % 4), 16, shape.k, a_across, shape.k,
                              1};
    if (!read_shared(turn, product, product.a, matrix, left.data())) return false;
  }
  const SharedMatrix matrix{shape.b, 0, shape.n, shape.k, b_across, 1, shape.n};
  if (!read_shared(turn, product, product.b, matrix, right.data())) return false;
  const float scale =
      static_cast<float>(immediate(turn, operands.rest[2]) * immediate(turn, operands.rest[3]));
  for (float& value : left) value *= scale;
  const auto add_product = width(shape.a) == 1 ? multiply_fp8 : multiply;
  add_product(left.data(), right.data(), sums.data(), shape.n, shape.k);
  accumulators.write(turn, operands.d, sums.data());
  turn.machine.products += left.size() * shape.n;
  return true;
}

/// All of the warp's pending results, newly.
void mark_in_flight(Turn& turn) {
  auto& marks = turn.warp.in_flight;
  marks.assign(turn.machine.program.units, false);
  for (const PendingMma& product : turn.warp.products) {
    const Instruction& at = turn.machine.program.instructions[product.instruction];
    const Shape shape = at.detail_as<Shape>();
    const int sums = Accumulators{shape.n, shape.halves}.registers();
    for (int i = 0; i < sums; ++i) marks[static_cast<std::size_t>(at.refs[i].slot)] = true;
  }
}

/// A warpgroup has one product: descriptors, and whether it adds, are the same for its four warps.
bool is_the_warpgroups(Turn& turn, const PendingMma& product) {
  std::vector<PendingMma>& common = turn.cta.products[turn.warp.index / 4];
  const std::size_t nth = turn.warp.products_begun++;
  if (nth == common.size()) common.push_back(product);
  const PendingMma& first = common[nth];
  return first.instruction == product.instruction && first.a == product.a && first.b == product.b &&
         first.add == product.add;
}

Step begin(Turn& turn) {
  const Shape shape = turn.at.detail_as<Shape>();
  const Operands operands = operands_of(turn.at, shape);
  PendingMma product;
  product.group = turn.warp.product_group;
  product.instruction = turn.index;
  if (!operands.a_in_registers) product.a = turn.bits_of(*operands.a, 0);
  product.b = turn.bits_of(operands.rest[0], 0);
  product.add = turn.predicate(operands.rest[1]) != 0;
  if (!is_the_warpgroups(turn, product))
    return turn.fail("the warps of a warpgroup begin another product, or only some of them add");
  turn.warp.products.push_back(product);
  if (turn.machine.asynchrony == Asynchrony::kEarly)
    return finish_products(turn, kEveryGroup) ? Step::kNext : Step::kFail;
  mark_in_flight(turn);
  return Step::kNext;
}

Step commit(Turn& turn) {
  ++turn.warp.product_group;
  return Step::kNext;
}

Step wait(Turn& turn) {
  const std::uint32_t groups = turn.warp.product_group;
  const std::uint32_t pending = turn.in<std::uint32_t>(0)[0];
  return finish_products(turn, groups - std::min(groups, pending)) ? Step::kNext : Step::kFail;
}

Step fence(Turn&) { return Step::kNext; }

std::optional<Shape> shape_of(const std::string& word) {
  const std::size_t n = word.find('n'), k = word.find('k');
  if (!word.starts_with("m64n") || k == std::string::npos) return std::nullopt;
  Shape shape;
  shape.n = static_cast<std::uint16_t>(std::stoi(word.substr(n + 1, k - n - 1)));
  shape.k = static_cast<std::uint8_t>(std::stoi(word.substr(k + 1)));
  return shape;
}

}  // namespace

bool finish_products(Turn& turn, std::uint32_t before) {
  if (turn.warp.products.empty()) return true;
  const auto due = [&](const PendingMma& product) { return product.group < before; };
  const bool done = finish(turn.warp.products, due,
                           [&](const PendingMma& product) { return carry_out(turn, product); });
  mark_in_flight(turn);
  return done;
}

/// wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 and what surrounds it.
std::optional<Meaning> wgmma_meaning(const Parts& parts) {
  constexpr auto kWarp = Collective::kWarp;
  if (parts.size() < 4 || parts[0] != "wgmma" || parts[2] != "sync" || parts[3] != "aligned")
    return std::nullopt;
  if (parts[1] == "fence") return Meaning{fence, kWarp};
  if (parts[1] == "commit_group") return Meaning{commit, kWarp};
  if (parts[1] == "wait_group") return Meaning{wait, kWarp};
  if (parts[1] != "mma_async" || parts.size() != 8) return std::nullopt;
  auto shape = shape_of(parts[4]);
  const auto a = element_of(parts[6]), b = element_of(parts[7]);
  if (!shape || !a || !b || width(*a) != width(*b)) return std::nullopt;
  if (parts[5] != "f32" && parts[5] != "f16") return std::nullopt;
  if (shape->k * static_cast<int>(width(*a)) != 32) return std::nullopt;
  shape->a = *a;
  shape->b = *b;
  shape->halves = parts[5] == "f16";
  return Meaning{begin, kWarp, 0, detail(*shape)};
}

}  // namespace fatune::ptx
