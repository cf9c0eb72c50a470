// attend.cuh - a short, right attention, one warp a query row, that each fault spoils in one place.
#pragma once

#include "common/prelude.cuh"
#include "common/problem.cuh"

// What a sum over keys is rounded to after every term.
#ifndef ROUND_SUM
#define ROUND_SUM(sum) (sum)
#endif

constexpr int kWarps = 4;
constexpr int kColumns = ceil_div(HEAD_DIM, 32);  // columns of a lane: lane, lane + 32, ...
constexpr i64 kRows = kHeadCount * SEQ_Q;

struct Row {
  i64 index;  // over batch, heads and rows
  i64 head;
  i32 row;
  int lane;
};

DEVICE Row this_row() {
  Row where;
  where.index = static_cast<i64>(blockIdx.x) * kWarps + threadIdx.x / 32;
  where.head = where.index / SEQ_Q;
  where.row = static_cast<i32>(where.index % SEQ_Q);
  where.lane = static_cast<int>(threadIdx.x) % 32;
  return where;
}

struct Result {
  float columns[kColumns];
  float lse;  // natural log-sum-exp
};

DEVICE float read_column(const elem* line, int column) {
  return column < HEAD_DIM ? to_float(line[column]) : 0.0f;
}

/// Online softmax over the first `keys` keys.
DEVICE Result attend(const elem* q, const elem* k, const elem* v, const Row& where, i32 keys) {
  const elem* query = q + QTensor::row(where.index);
  Result result{};
  float largest = NEG_INF;
  float sum = 0.0f;
  for (i32 key = 0; key < keys; ++key) {
    const elem* k_row = k + kv_offset<KTensor>(where.head) + i64{key} * KTensor::kRow;
    const elem* v_row = v + kv_offset<VTensor>(where.head) + i64{key} * VTensor::kRow;
    float dot = 0.0f;
    for (int c = 0; c < kColumns; ++c) {
      dot += read_column(query, where.lane + 32 * c) * read_column(k_row, where.lane + 32 * c);
    }
    const float score = warp_sum(dot) * SOFTMAX_SCALE;
    const float before = largest;
    largest = fmaxf(largest, score);
    const float shrink = expf(before - largest);
    const float weight = expf(score - largest);
    sum = ROUND_SUM(sum * shrink + weight);
    for (int c = 0; c < kColumns; ++c) {
      const float value = read_column(v_row, where.lane + 32 * c);
      result.columns[c] = ROUND_SUM(result.columns[c] * shrink + weight * value);
    }
  }
  result.lse = largest + logf(sum);
  for (int c = 0; c < kColumns; ++c)
    result.columns[c] = sum == 0.0f ? 0.0f : result.columns[c] / sum;
  return result;
}

DEVICE void store(elem* out, const Row& where, const Result& result) {
  elem* row = out + OutTensor::row(where.index);
  for (int c = 0; c < kColumns; ++c) {
    const int column = where.lane + 32 * c;
    if (column < HEAD_DIM) row[column] = from_float(result.columns[c]);
  }
}

DEVICE void attend_and_store(const elem* q, const elem* k, const elem* v, elem* out) {
  const Row where = this_row();
  if (where.index < kRows) store(out, where, attend(q, k, v, where, visible_keys(where.row)));
}

DEVICE void store_lse(float* lse, const Row& where, float value) {
  if (where.lane == 0) lse[where.index] = value;
}

/// The entry that every fault shares; what follows is its body.
#define FAULT_ENTRY \
  extern "C" __global__ void fault_main(const elem* q, const elem* k, const elem* v, elem* out)

/// The same for faults that write the log-sum-exp, too.
#define FAULT_LSE_ENTRY                                                                         \
  extern "C" __global__ void fault_main(const elem* q, const elem* k, const elem* v, elem* out, \
                                        float* lse)
