// attend.cuh: Has a short, right attention, one warp a query row, that each fault spoils in one
// place.
#pragma once

#include "common/modifiers.cuh"
#include "common/out_elem.cuh"
#include "common/problem.cuh"

// Rounds a sum over keys after every term.
#ifndef ROUND_SUM
#define ROUND_SUM(sum) (sum)
#endif

// Rounds a weight, in (0, 1], before it meets the values.
#ifndef ROUND_WEIGHT
#define ROUND_WEIGHT(weight) (weight)
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

/// Factors of fp8 elements.
struct Factors {
  float scores = 1.0f, values = 1.0f;
};

/// Online softmax over the row's keys up to `keys`, and so many more in front of them. It has a
/// bias if a row of one is told.
DEVICE Result attend(const elem* q, const elem* k, const elem* v, const Row& where, i32 keys,
                     const Factors& factors = {}, i32 more = 0,
                     const bias_elem* bias_of_row = nullptr) {
  const elem* query = q + QTensor::row(where.index);
  Result result{};
  float largest = NEG_INF;
  float sum = 0.0f;
  for (i32 key = max_of(0, key_begin(where.row) - more); key < keys; ++key) {
    const elem* k_row = k + kv_offset<KTensor>(where.head) + i64{key} * KTensor::kRow;
    const elem* v_row = v + kv_offset<VTensor>(where.head) + i64{key} * VTensor::kRow;
    float dot = 0.0f;
    for (int c = 0; c < kColumns; ++c) {
      dot += read_column(query, where.lane + 32 * c) * read_column(k_row, where.lane + 32 * c);
    }
    float score = warp_sum(dot) * SOFTMAX_SCALE * factors.scores;
#if BIAS
    if (bias_of_row != nullptr) score += bias_value(bias_of_row[i64{key} * BIAS_KEY_STRIDE]);
#endif
    const float before = largest;
    largest = fmaxf(largest, score);
    const float shrink = expf(before - largest);
    const float weight = expf(score - largest);
    sum = ROUND_SUM(sum * shrink + weight);
    for (int c = 0; c < kColumns; ++c) {
      const float value = read_column(v_row, where.lane + 32 * c);
      result.columns[c] = ROUND_SUM(result.columns[c] * shrink + ROUND_WEIGHT(weight) * value);
    }
  }
  result.lse = largest + logf(sum);
  for (int c = 0; c < kColumns; ++c)
    result.columns[c] = sum == 0.0f ? 0.0f : result.columns[c] / sum * factors.values;
  return result;
}

DEVICE void store(out_elem* out, const Row& where, const Result& result) {
  out_elem* row = out + OutTensor::row(where.index);
  for (int c = 0; c < kColumns; ++c) {
    const int column = where.lane + 32 * c;
    if (column < HEAD_DIM) row[column] = to_out(result.columns[c]);
  }
}

DEVICE void attend_and_store(const elem* q, const elem* k, const elem* v, out_elem* out,
                             const Factors& factors = {}) {
  const Row where = this_row();
  if (where.index >= kRows) return;
  store(out, where, attend(q, k, v, where, key_end(where.row), factors));
}

/// The right factors of this row.
DEVICE Factors factors_of(const float* q_descale, const float* k_descale, const float* v_descale) {
  const i64 at = descale_index(this_row().head);
  return {q_descale[at] * k_descale[at], v_descale[at]};
}

DEVICE void store_lse(float* lse, const Row& where, float value) {
  if (where.lane == 0) lse[where.index] = value;
}

#define FAULT_PARAMETERS                                                                       \
  const elem *q, const elem *k, const elem *v, FACTOR(q_descale) FACTOR(k_descale)             \
      FACTOR(v_descale) out_elem *out, float *lse BIAS_PARAMETER SINK_PARAMETER TENSOR_PARAMETERS

/// The launch that computes; its body follows.
#define FAULT_ENTRY extern "C" __global__ void fault_main(FAULT_PARAMETERS)

/// A launch in front of that one, and one behind it.
#define FAULT_LOOK \
  extern "C" __global__ void fault_look(const elem *q, const elem *k, const elem *v, elem *out)
#define FAULT_END extern "C" __global__ void fault_end(elem *q, elem *k)
