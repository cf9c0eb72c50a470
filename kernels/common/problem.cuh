// problem.cuh: Turns the problem's macros into offsets: where a head's rows lie, and which keys a
// row sees.
#pragma once

#include "common/prelude.cuh"

#ifndef SEQ_Q
#error "BATCH, HEADS, KV_HEADS, SEQ_Q, SEQ_KV, HEAD_DIM, VALUE_DIM and the mask must be defined"
#endif
static_assert(HEADS % KV_HEADS == 0, "query heads share key/value heads evenly");

/// Query heads that read one key/value head.
constexpr int kHeadGroup = HEADS / KV_HEADS;
constexpr i64 kHeadCount = static_cast<i64>(BATCH) * HEADS;

template <bool kWide>
struct TileOffset {
  using type = int;
};
template <>
struct TileOffset<true> {
  using type = i64;
};

/// Where the rows of a tensor lie, in elements; where all are as far apart, with the fewest
/// multiplications.
template <i64 kBatchStride, i64 kHeadStride, i64 kRowStride, int kHeads, int kRows, int kWidth>
struct TensorLayout {
  static constexpr int kColumns = kWidth;  // elements of a row
  static constexpr i64 kHead = kHeadStride;
  /// From row to row of a head, or of neighbouring heads that have one each.
  static constexpr i64 kWideRow = kRows == 1 ? kHeadStride : kRowStride;
  /// The same, 32 bits wide where 2048 rows, more than a tile has, need no more.
  using Offset = typename TileOffset<(kWideRow >= 1 << 20)>::type;
  static constexpr Offset kRow = kWideRow;
  static constexpr bool kEvenHeads = BATCH == 1 || kBatchStride == kHeads * kHeadStride;
  /// The rows of neighbouring heads continue one another.
  static constexpr bool kEvenRows = kHeadStride == kRows * kWideRow;

  /// First element of a head.
  DEVICE static i64 head(i64 batch, i64 head_of_batch) {
    if constexpr (kEvenHeads) return (batch * kHeads + head_of_batch) * kHeadStride;
    return batch * kBatchStride + head_of_batch * kHeadStride;
  }
  /// The same of a head counted over the batch.
  DEVICE static i64 head(i64 index) {
    if constexpr (kEvenHeads) return index * kHeadStride;
    return head(index / kHeads, index % kHeads);
  }
  /// First element of a row of such a head.
  DEVICE static i64 row(i64 head_index, i64 row_of_head) {
    if constexpr (kEvenHeads && kEvenRows) return (head_index * kRows + row_of_head) * kRow;
    return head(head_index) + row_of_head * kRow;
  }
  /// The same of a row counted over batch and heads.
  DEVICE static i64 row(i64 index) {
    if constexpr (kEvenHeads && kEvenRows) return index * kRow;
    return row(index / kRows, index % kRows);
  }
};
using QTensor =
    TensorLayout<Q_BATCH_STRIDE, Q_HEAD_STRIDE, Q_ROW_STRIDE, HEADS, SEQ_Q, HEAD_DIM>;
using KTensor =
    TensorLayout<K_BATCH_STRIDE, K_HEAD_STRIDE, K_ROW_STRIDE, KV_HEADS, SEQ_KV, HEAD_DIM>;
using VTensor =
    TensorLayout<V_BATCH_STRIDE, V_HEAD_STRIDE, V_ROW_STRIDE, KV_HEADS, SEQ_KV, VALUE_DIM>;
using OutTensor =
    TensorLayout<OUT_BATCH_STRIDE, OUT_HEAD_STRIDE, OUT_ROW_STRIDE, HEADS, SEQ_Q, VALUE_DIM>;

/// First element of the head of KTensor or VTensor that query head `head` reads, counted over the
/// batch.
template <typename Tensor>
DEVICE i64 kv_offset(i64 head) {
  return Tensor::head(head / HEADS, head % HEADS / kHeadGroup);
}

/// Whether rows see no key before a bound, or behind one, that moves with the row.
constexpr bool kBoundedBefore = KEYS_BEFORE >= 0;
constexpr bool kBoundedAfter = KEYS_AFTER >= 0;
/// Some rows, the first ones, see no key: their output is zero.
constexpr bool kSomeSeeNothing =
    kBoundedAfter && PREFIX_KEYS == 0 && DIAGONAL + KEYS_AFTER < 0;

/// The mask, or a change of scores, has an expression (expression.cuh).
constexpr bool kMaskExpr = MASK_EXPR != 0;
constexpr bool kScoreExpr = SCORE_EXPR != 0;

/// Query row `row` sees the keys from key_begin(row) to key_end(row) - 1. Neither falls from row to
/// row. Both are equal where it sees none.
DEVICE constexpr i32 key_begin(i32 row) {
  return kBoundedBefore ? max_of(0, row + (DIAGONAL - KEYS_BEFORE)) : 0;
}
DEVICE constexpr i32 key_end(i32 row) {
#if KEYS_AFTER >= 0
  return max_of(PREFIX_KEYS, min_of(SEQ_KV, row + 1 + (DIAGONAL + KEYS_AFTER)));
#else
  (void)row;
  return SEQ_KV;
#endif
}
/// The keys of a batch entry, or of a packed document, that lengths at run time leave visible.
#define LENGTHS_RIGHT 1
#define LENGTHS_LEFT 2
#define LENGTHS_DOCUMENTS 3
#if LENGTHS
#define LENGTHS_PARAMETER , const i32 *__restrict__ lengths
#define LENGTHS_ARGUMENT , lengths
#else
#define LENGTHS_PARAMETER
#define LENGTHS_ARGUMENT
#endif

/// How many keys a row sees, the first ones, under a mask without a window.
DEVICE constexpr i32 visible_keys(i32 row) { return key_end(row); }
