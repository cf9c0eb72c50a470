// mma_products.cuh: Computes a warp's two GEMMs of attention, QK^T and PV, with operands by
// ldmatrix from swizzled tiles.
#pragma once

#include "common/mma.cuh"
#include "common/mma_softmax.cuh"
#include "common/swizzled_tile.cuh"

constexpr int kDSteps = kRowBytes / 32;  // k-steps of QK^T
constexpr int kDTiles = VALUE_DIM / 8;  // 8-column tiles of O

/// A lane's ldmatrix addresses in a tile of K. The two registers of a B operand must be
/// neighbours: the matrices come as (keys 0-7, half 0), (0-7, 1), (8-15, 0), (8-15, 1).
DEVICE Fragments<KeyRows> key_fragments(u32 tile, int lane) {
  return fragments<KeyRows>(tile, lane % 8 + lane / 16 * 8, lane / 8 % 2);
}

/// The same in a tile of Q, or of 16-bit V, which is transposed on the way: (rows 0-7, half 0),
/// (8-15, 0), (0-7, 1), (8-15, 1).
template <typename Rows = KeyRows>
DEVICE Fragments<Rows> row_fragments(u32 tile, int lane) {
  return fragments<Rows>(tile, lane % 16, lane / 16);
}

/// The same in a tile of V; of fp8 the matrices are four octets of keys in one chunk.
DEVICE Fragments<ValueRows> value_fragments(u32 tile, int lane) {
  return kIs16Bit ? row_fragments<ValueRows>(tile, lane) : fragments<ValueRows>(tile, lane, 0);
}

/// A warp's rows of Q as A operands: held in registers, or read anew from shared memory.
template <int kM, bool kHeld>
struct QueryRows;

template <int kM>
struct QueryRows<kM, false> {
  Fragments<KeyRows> rows;
  DEVICE explicit QueryRows(const Fragments<KeyRows>& rows_) : rows(rows_) {}
  DEVICE void left(u32 (&operand)[4], int m, int step) const {
    ldmatrix_x4(operand, rows.at(16 * m, step));
  }
};

template <int kM>
struct QueryRows<kM, true> {
  u32 held[kM][kDSteps][4];
  DEVICE explicit QueryRows(const Fragments<KeyRows>& rows) {
#pragma unroll
    for (int m = 0; m < kM; ++m) {
#pragma unroll
      for (int step = 0; step < kDSteps; ++step) ldmatrix_x4(held[m][step], rows.at(16 * m, step));
    }
  }
  DEVICE void left(u32 (&operand)[4], int m, int step) const {
#pragma unroll
    for (int i = 0; i < 4; ++i) operand[i] = held[m][step][i];
  }
};

/// S = QK^T.
template <bool kHeld, int kM, int kN>
DEVICE void multiply_qk(Scores<kM, kN>& scores, const QueryRows<kM, kHeld>& q,
                        const Fragments<KeyRows>& k) {
#pragma unroll
  for (int m = 0; m < kM; ++m) {
#pragma unroll
    for (int n = 0; n < kN; ++n) {
#pragma unroll
      for (int i = 0; i < 4; ++i) scores.at[m][n][i] = 0.0f;
    }
  }
#pragma unroll
  for (int step = 0; step < kDSteps; ++step) {
    u32 left[kM][4];
#pragma unroll
    for (int m = 0; m < kM; ++m) q.left(left[m], m, step);
#pragma unroll
    for (int n = 0; n < kN; n += 2) {
      u32 right[4];
      ldmatrix_x4(right, k.at(8 * n, step));
#pragma unroll
      for (int m = 0; m < kM; ++m) {
        mma_qk(scores.at[m][n], left[m], right[0], right[1]);
        mma_qk(scores.at[m][n + 1], left[m], right[2], right[3]);
      }
    }
  }
}

/// The B operands of 16 columns of V and a k-step of keys: column tiles 2d and 2d + 1.
DEVICE void load_v(u32 (&right)[4], const Fragments<ValueRows>& v, int step, int d) {
  if constexpr (kIs16Bit) {
    ldmatrix_x4_trans(right, v.at(16 * step, d));
  } else {
    u32 octets[4];
    ldmatrix_x4_trans(octets, v.at_chunk(32 * step, d));
    transpose_octets(right, octets);
  }
}

/// O += PV.
template <int kM, int kN>
DEVICE void multiply_pv(State<kM, kDTiles>& state, const PFragment<kM, kN>& p,
                        const Fragments<ValueRows>& v) {
#pragma unroll
  for (int step = 0; step < kN / kPTiles; ++step) {
#pragma unroll
    for (int d = 0; d < ceil_div(kDTiles, 2); ++d) {
      u32 right[4];
      load_v(right, v, step, d);
#pragma unroll
      for (int m = 0; m < kM; ++m) {
        mma_pv(state.acc_o[m][2 * d], p.at[m][step], right[0], right[1]);
        if (2 * d + 1 < kDTiles)
          mma_pv(state.acc_o[m][2 * d + 1], p.at[m][step], right[2], right[3]);
      }
    }
  }
}
