// warp.cpp: Executes warp-wide instructions: shfl, vote, redux, elect, ldmatrix, stmatrix,
// movmatrix.
#include "ptx/access.hpp"
#include "ptx/handlers.hpp"

namespace fatune::ptx {
namespace {

using u32 = std::uint32_t;

enum class Shuffle : std::uint8_t { kDown, kButterfly, kIndex };

/// shfl.sync d|p, a, b, c, members: c holds a clamp and, from bit 8, a mask of segments.
template <Shuffle kMode>
Step shuffle(Turn& turn) {
  const int a = turn.at.count - 4;  // behind d, or d and p
  const auto values = turn.in<u32>(a), by = turn.in<u32>(a + 1), control = turn.in<u32>(a + 2);
  Row<u32> d = values;
  Mask found = 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    const auto at = static_cast<std::size_t>(lane);
    const int segments = static_cast<int>(control[at] >> 8U & 31U);
    const int clamp = static_cast<int>(control[at] & 31U);
    const int b = static_cast<int>(by[at] & 31U);
    const int last = (lane & segments) | (clamp & ~segments);
    const int first = lane & segments;
    int from = lane;
    switch (kMode) {
      case Shuffle::kDown:
        from = lane + b;
        break;
      case Shuffle::kButterfly:
        from = lane ^ b;
        break;
      case Shuffle::kIndex:
        from = first | (b & ~segments);
        break;
    }
    if (from > last) continue;
    found |= Mask{1} << lane;
    d[at] = values[static_cast<std::size_t>(from)];
  }
  turn.out(0, d);
  if (a == 2) turn.set_predicate(turn.at.refs[1], found);
  return Step::kNext;
}

Step vote_any(Turn& turn) {
  const Mask holds = turn.predicate(1) & turn.mask;
  turn.set_predicate(turn.at.refs[0], holds != 0 ? kAllLanes : 0);
  return Step::kNext;
}

Step ballot(Turn& turn) {
  Row<u32> d;
  d.fill(turn.predicate(1) & turn.mask);
  turn.out(0, d);
  return Step::kNext;
}

Step reduce_to_largest(Turn& turn) {
  const auto values = turn.in<u32>(1);
  u32 largest = 0;
  for_lanes(turn.mask,
            [&](int lane) { largest = std::max(largest, values[static_cast<std::size_t>(lane)]); });
  Row<u32> d;
  d.fill(largest);
  turn.out(0, d);
  return Step::kNext;
}

/// elect.sync d|p, members: the lowest lane.
Step elect(Turn& turn) {
  const int first = std::countr_zero(turn.mask);
  Row<u32> d;
  d.fill(static_cast<u32>(first));
  if (!turn.at.refs[0].sink) turn.out(0, d);
  if (turn.at.count == 3) turn.set_predicate(turn.at.refs[1], Mask{1} << first);
  return Step::kNext;
}

Step together(Turn&) { return Step::kNext; }

// ---- matrices of 8x8 elements of 16 bits: lane l has elements 2 (l % 4) and the next of row l / 4

using Matrix = std::array<std::array<std::uint16_t, 8>, 8>;

Matrix gathered(const Row<u32>& fragment) {
  Matrix matrix;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    matrix[lane / 4][lane % 4 * 2] = static_cast<std::uint16_t>(fragment[lane]);
    matrix[lane / 4][lane % 4 * 2 + 1] = static_cast<std::uint16_t>(fragment[lane] >> 16U);
  }
  return matrix;
}
Row<u32> scattered(const Matrix& matrix) {
  Row<u32> fragment;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    const auto& row = matrix[lane / 4];
    fragment[lane] = row[lane % 4 * 2] | u32{row[lane % 4 * 2 + 1]} << 16U;
  }
  return fragment;
}
Matrix transposed(const Matrix& matrix) {
  Matrix result;
  for (std::size_t i = 0; i < 8; ++i) {
    for (std::size_t j = 0; j < 8; ++j) result[j][i] = matrix[i][j];
  }
  return result;
}

/// Where row `row` of a matrix lies: lanes 8i to 8i + 7 have the addresses of matrix i.
std::byte* matrix_row(const Turn& turn, int address, int matrix, int row) {
  const int lane = 8 * matrix + row;
  return locate(turn, Space::kShared, address_of(turn, address, lane), 16, lane);
}

template <int kCount, bool kTransposed>
Step load_matrix(Turn& turn) {
  std::array<Matrix, kCount> matrices;
  for (int i = 0; i < kCount; ++i) {
    Matrix& matrix = matrices[static_cast<std::size_t>(i)];
    for (int row = 0; row < 8; ++row) {
      const std::byte* from = matrix_row(turn, kCount, i, row);
      if (from == nullptr) return Step::kFail;
      std::memcpy(matrix[static_cast<std::size_t>(row)].data(), from, 16);
    }
  }
  for (int i = 0; i < kCount; ++i) {
    const Matrix& matrix = matrices[static_cast<std::size_t>(i)];
    turn.out(i, scattered(kTransposed ? transposed(matrix) : matrix));
  }
  return Step::kNext;
}

template <int kCount, bool kTransposed>
Step store_matrix(Turn& turn) {
  for (int i = 0; i < kCount; ++i) {
    Matrix matrix = gathered(turn.in<u32>(i + 1));
    if (kTransposed) matrix = transposed(matrix);
    for (int row = 0; row < 8; ++row) {
      std::byte* to = matrix_row(turn, 0, i, row);
      if (to == nullptr) return Step::kFail;
      std::memcpy(to, matrix[static_cast<std::size_t>(row)].data(), 16);
    }
  }
  ++turn.cluster.events;
  return Step::kNext;
}

Step move_matrix(Turn& turn) {
  turn.out(0, scattered(transposed(gathered(turn.in<u32>(1)))));
  return Step::kNext;
}

template <int kCount>
void add_matrices(Table& table, const std::string& count) {
  constexpr auto kWarp = Collective::kWarp;
  for (const char* space : {".shared.b16", ".shared::cta.b16"}) {
    const std::string load = "ldmatrix.sync.aligned.m8n8." + count;
    const std::string store = "stmatrix.sync.aligned.m8n8." + count;
    table[load + space] = {load_matrix<kCount, false>, kWarp};
    table[load + ".trans" + space] = {load_matrix<kCount, true>, kWarp};
    table[store + space] = {store_matrix<kCount, false>, kWarp};
    table[store + ".trans" + space] = {store_matrix<kCount, true>, kWarp};
  }
}

}  // namespace

void add_warp(Table& table) {
  // The member mask is the last operand.
  constexpr auto kMembers = Collective::kMembers;
  table["shfl.sync.down.b32"] = {shuffle<Shuffle::kDown>, kMembers, 1};
  table["shfl.sync.bfly.b32"] = {shuffle<Shuffle::kButterfly>, kMembers, 1};
  table["shfl.sync.idx.b32"] = {shuffle<Shuffle::kIndex>, kMembers, 1};
  table["vote.sync.any.pred"] = {vote_any, kMembers, 1};
  table["vote.sync.ballot.b32"] = {ballot, kMembers, 1};
  table["redux.sync.max.u32"] = {reduce_to_largest, kMembers, 1};
  table["elect.sync"] = {elect, kMembers, 1};
  table["bar.warp.sync"] = {together, kMembers, 1};
  add_matrices<1>(table, "x1");
  add_matrices<2>(table, "x2");
  add_matrices<4>(table, "x4");
  table["movmatrix.sync.aligned.m8n8.trans.b16"] = {move_matrix, Collective::kWarp};
}

}  // namespace fatune::ptx
