// naive.cu: Computes attention in three plain launches, with all sums in fp32; it is the reference
// of the gates.
//   1. scores[i][j] = scale * q[i].k[j], -infinity where masked
//   2. softmax of each row, in place
//   3. out = scores . v
// With ROUND_INTERMEDIATES=1 it is the low-precision twin: S, P and O are rounded as a kernel that
// keeps them in DTYPE would. fp8 elements are multiplied by their factors as they are read, so that
// every sum is one of the values that they stand for.
#include "common/expression.cuh"
#include "common/modifiers.cuh"
#include "common/out_elem.cuh"
#include "common/problem.cuh"

#ifndef ROUND_INTERMEDIATES
#define ROUND_INTERMEDIATES 0
#endif

// With OUT_F32=1 it is the reference itself: `out` holds the fp32 sums, not rounded.
#ifndef OUT_F32
#define OUT_F32 0
#endif
#if OUT_F32
using result = float;
DEVICE result to_result(float value) { return value; }
#else
using result = out_elem;
DEVICE result to_result(float value) { return to_out(value); }
#endif

constexpr int kTilesQ = ceil_div(SEQ_Q, TILE);
constexpr int kTilesKv = ceil_div(SEQ_KV, TILE);
constexpr int kTilesD = ceil_div(VALUE_DIM, TILE);

/// fp8 scores would overflow and carry 3 bits: kernels keep them wider, so the twin rounds those to
/// bf16.
DEVICE float round_score(float value) {
#if ROUND_INTERMEDIATES
  if constexpr (kIs16Bit) return to_float(from_float(value));
  return bf16_to_float(float_to_bf16(value));
#else
  return value;
#endif
}

/// Applied to exp(s - max), in (0, 1], before the division: the form in which fused kernels round
/// P. Of fp8 it is e4m3 whatever DTYPE, times 2^8: the smallest number of e4m3 is 2^-9, and its
/// largest 448.
DEVICE float round_probability(float value) {
#if ROUND_INTERMEDIATES
  if constexpr (kIs16Bit) return to_float(from_float(value));
  return e4m3_to_float(float_to_e4m3(value * 256.0f)) / 256.0f;
#else
  return value;
#endif
}

#if LENGTHS
/// Whether the lengths leave the key visible to the row; both are of a head counted over the batch.
DEVICE bool left_visible(const i32* __restrict__ lengths, i64 head, int row, int key) {
#if LENGTHS == LENGTHS_DOCUMENTS
  for (int document = 0; document < DOCUMENTS; ++document) {
    const int begin = lengths[document];
    const int end = lengths[document + 1];
    if (begin <= row && row < end) return begin <= key && key < end;
  }
  return false;
#else
  const int length = min_of(lengths[head / HEADS], SEQ_KV);
  return LENGTHS == LENGTHS_RIGHT ? key < length : key >= SEQ_KV - length;
#endif
}
#endif

extern "C" __global__ void __launch_bounds__(TILE* TILE)
    naive_scores(const elem* __restrict__ q, const elem* __restrict__ k,
                 FACTOR(q_descale) FACTOR(k_descale) float* __restrict__ scores BIAS_PARAMETER
                     LENGTHS_PARAMETER ALIBI_PARAMETER TENSOR_PARAMETERS) {
  __shared__ float q_tile[TILE][TILE + 1];
  __shared__ float k_tile[TILE][TILE + 1];
  const i64 block = blockIdx.x;
  const i64 head = block / (static_cast<i64>(kTilesQ) * kTilesKv);
  const int first_row = static_cast<int>(block / kTilesKv % kTilesQ) * TILE;
  const int first_key = static_cast<int>(block % kTilesKv) * TILE;
  const elem* q_head = q + QTensor::head(head);
  const elem* k_head = k + kv_offset<KTensor>(head);
  const int x = threadIdx.x;
  const int y = threadIdx.y;
  const float q_factor = FACTOR_OF(q_descale, head);
  const float k_factor = FACTOR_OF(k_descale, head);

  float sum = 0.0f;
  for (int chunk = 0; chunk < HEAD_DIM; chunk += TILE) {
    const int col = chunk + x;
    const bool q_inside = first_row + y < SEQ_Q && col < HEAD_DIM;
    const bool k_inside = first_key + y < SEQ_KV && col < HEAD_DIM;
    q_tile[y][x] =
        q_inside ? q_factor * to_float(q_head[i64{first_row + y} * QTensor::kRow + col])
                 : 0.0f;
    k_tile[y][x] =
        k_inside ? k_factor * to_float(k_head[i64{first_key + y} * KTensor::kRow + col])
                 : 0.0f;
    __syncthreads();
#pragma unroll
    for (int d = 0; d < TILE; ++d) sum += q_tile[y][d] * k_tile[x][d];
    __syncthreads();
  }

  const int row = first_row + y;
  const int key = first_key + x;
  if (row >= SEQ_Q || key >= SEQ_KV) return;
  bool seen = key_begin(row) <= key && key < key_end(row);
#if LENGTHS
  seen = seen && left_visible(lengths, head, row, key);
#endif
  float score = sum * SOFTMAX_SCALE;
#if SOFTCAPPED
  score = SOFTCAP * tanhf(score / SOFTCAP);
#endif
#if BIAS
  const i64 at = i64{key} * BIAS_KEY_STRIDE;
  const float added = bias_value(bias_row(bias, static_cast<int>(head), row)[at]);
  score += added;
  seen = seen && !(added < kHidingBias);
#endif
#if ALIBI
  const int distance = row + (SEQ_KV - SEQ_Q) - key;
  score -= alibi[head % HEADS] * static_cast<float>(distance < 0 ? -distance : distance);
#endif
  [[maybe_unused]] const i32 batch = static_cast<i32>(head / HEADS);
  [[maybe_unused]] const i32 own_head = static_cast<i32>(head % HEADS);
  score = round_score(score);
#if SCORE_EXPR
  // In fp32 as it is: what it makes of a score may be far larger.
  score = score_expression(score, batch, own_head, row, key WITH_TENSORS({TENSOR_VALUES}));
  seen = seen && !(score < kHidingBias);
#endif
#if MASK_EXPR
#if TENSORS
  const Tensors tensors{TENSOR_VALUES};
#endif
  seen = seen && mask_expression<i32>(batch, own_head, row, key WITH_TENSORS(tensors));
#endif
  if (!seen) score = NEG_INF;
  scores[(head * SEQ_Q + row) * SEQ_KV + key] = score;
}

/// One warp a row; a row that sees no key becomes zeros, its log-sum-exp -infinity or the sink.
extern "C" __global__ void __launch_bounds__(ROW_WARPS * 32)
    naive_softmax(float* __restrict__ scores, float* __restrict__ lse SINK_PARAMETER) {
  const i64 row = static_cast<i64>(blockIdx.x) * ROW_WARPS + threadIdx.x / 32;
  if (row >= kHeadCount * SEQ_Q) return;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  float* line = scores + row * SEQ_KV;

  float largest = NEG_INF;
  for (int key = lane; key < SEQ_KV; key += 32) largest = fmaxf(largest, line[key]);
  largest = warp_max(largest);
#if SINK
  const float sink_score = to_float(sink[row / SEQ_Q % HEADS]);
  largest = fmaxf(largest, sink_score);
#endif
  const bool sees_nothing = largest == NEG_INF;

  float sum = 0.0f;
  for (int key = lane; key < SEQ_KV; key += 32)
    sum += sees_nothing ? 0.0f : expf(line[key] - largest);
  sum = warp_sum(sum);
#if SINK
  sum += sees_nothing ? 0.0f : expf(sink_score - largest);
#endif
#if LSE
  if (lane == 0) lse[row] = largest + logf(sum);
#endif

  for (int key = lane; key < SEQ_KV; key += 32) {
    line[key] = sees_nothing ? 0.0f : round_probability(expf(line[key] - largest)) / sum;
  }
}

extern "C" __global__ void __launch_bounds__(TILE* TILE)
    naive_output(const float* __restrict__ scores, const elem* __restrict__ v,
                 FACTOR(v_descale) result* __restrict__ out) {
  __shared__ float p_tile[TILE][TILE + 1];
  __shared__ float v_tile[TILE][TILE + 1];
  const i64 block = blockIdx.x;
  const i64 head = block / (static_cast<i64>(kTilesQ) * kTilesD);
  const int row =
      static_cast<int>(block / kTilesD % kTilesQ) * TILE + static_cast<int>(threadIdx.y);
  const int col = static_cast<int>(block % kTilesD) * TILE + static_cast<int>(threadIdx.x);
  const float* p_head = scores + head * SEQ_Q * SEQ_KV;
  const elem* v_head = v + kv_offset<VTensor>(head);
  const int x = threadIdx.x;
  const int y = threadIdx.y;
  const float v_factor = FACTOR_OF(v_descale, head);

  float sum = 0.0f;
  for (int first_key = 0; first_key < SEQ_KV; first_key += TILE) {
    const bool p_inside = row < SEQ_Q && first_key + x < SEQ_KV;
    const bool v_inside = first_key + y < SEQ_KV && col < VALUE_DIM;
    p_tile[y][x] = p_inside ? p_head[static_cast<i64>(row) * SEQ_KV + first_key + x] : 0.0f;
    v_tile[y][x] =
        v_inside ? v_factor * to_float(v_head[i64{first_key + y} * VTensor::kRow + col])
                 : 0.0f;
    __syncthreads();
#pragma unroll
    for (int key = 0; key < TILE; ++key) sum += p_tile[y][key] * v_tile[key][x];
    __syncthreads();
  }
  if (row < SEQ_Q && col < VALUE_DIM)
    out[OutTensor::head(head) + static_cast<i64>(row) * OutTensor::kRow + col] = to_result(sum);
}
