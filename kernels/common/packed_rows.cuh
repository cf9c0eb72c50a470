// packed_rows.cuh: Finds the place in q, out and lse of a row of packed query heads (PackGQA).
#pragma once

#include "common/problem.cuh"

/// kPack query heads of one key/value head form a packed head, its rows one position after the
/// other: row r is position r / kPack of head r % kPack. A tile of them reads K and V once for all
/// heads, and under a causal mask its rows differ by less. With 1, rows and heads are the
/// problem's own.
template <int kPack>
struct PackedRows {
  static_assert(kHeadGroup % kPack == 0, "the heads of a pack share one key/value head");
  static constexpr int kHeads = BATCH * HEADS / kPack;
  static constexpr int kRows = SEQ_Q * kPack;  // of a packed head

  DEVICE static int position(int row) { return row / kPack; }
  DEVICE static int kv_head(int head) { return head * kPack / kHeadGroup; }

  /// Elements from the packed head's first one in QTensor or OutTensor to that of a row.
  template <typename Tensor>
  DEVICE static i64 offset(int row) {
    if constexpr (Tensor::kEvenRows) return place(row) * Tensor::kRow;
    return row % kPack * Tensor::kHead + row / kPack * i64{Tensor::kRow};
  }
  /// The row's number, from the packed head's first one.
  DEVICE static i64 place(int row) {
    if constexpr (kPack == 1) return row;
    return static_cast<i64>(row % kPack) * SEQ_Q + row / kPack;
  }
  /// The number of the packed head's first row, counted over all heads: its place in lse.
  DEVICE static i64 first_place(int head) { return static_cast<i64>(head) * kRows; }
};
