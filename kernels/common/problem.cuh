// problem.cuh - the problem's macros to offsets: where a head lives, which keys a row sees.
#pragma once

#include "common/prelude.cuh"

#ifndef SEQ_Q
#error "BATCH, HEADS, KV_HEADS, SEQ_Q, SEQ_KV, HEAD_DIM and CAUSAL must be defined"
#endif
static_assert(HEADS % KV_HEADS == 0, "query heads share key/value heads evenly");

/// Query heads that read one key/value head.
constexpr int kHeadGroup = HEADS / KV_HEADS;
constexpr i64 kHeadCount = static_cast<i64>(BATCH) * HEADS;

/// First element of query (and output) head `head`, counted over batch and heads.
DEVICE i64 query_offset(i64 head) { return head * (static_cast<i64>(SEQ_Q) * HEAD_DIM); }

/// First element of the key (and value) head that query head `head` reads.
DEVICE i64 key_offset(i64 head) {
  const i64 batch = head / HEADS;
  const i64 kv_head = (head % HEADS) / kHeadGroup;
  return (batch * KV_HEADS + kv_head) * (static_cast<i64>(SEQ_KV) * HEAD_DIM);
}

/// How many keys query row `row` sees; they are the first ones. 0 is possible: that row's output is
/// zero.
DEVICE constexpr i32 visible_keys(i32 row) {
#if CAUSAL
  return max_of(0, min_of(SEQ_KV, row + 1 + (SEQ_KV - SEQ_Q)));
#else
  (void)row;
  return SEQ_KV;
#endif
}
