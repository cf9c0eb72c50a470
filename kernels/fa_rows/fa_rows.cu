// fa_rows.cu: Computes attention with one thread a query row, which has scores, softmax and output
// in its registers. All lanes of a warp need the same key at the same time, so keys and values are
// broadcasts.
#include "common/copy.cuh"
#include "common/lse.cuh"
#include "common/prelude.cuh"
#include "common/problem.cuh"

constexpr int kVec = 8;  // elements in a 16-byte access
constexpr bool kStaged = KV_SOURCE != KV_SOURCE_GLOBAL;
constexpr bool kPackedQ = Q_FORMAT == Q_FORMAT_PACKED;
constexpr int kMBlocks = ceil_div(SEQ_Q, THREADS);
static_assert(HEAD_DIM % kVec == 0, "rows split into 16-byte vectors");

// Exponentials in base 2 fold log2(e) into the scale; in base e each costs a multiplication more.
#if EXP2
constexpr float kScoreScale = SOFTMAX_SCALE_LOG2E;
DEVICE float exponential(float x) { return fast_exp2(x); }
DEVICE float lse_of(float row_max, float sum) { return log_sum_exp2(row_max, sum); }
#else
constexpr float kScoreScale = SOFTMAX_SCALE;
DEVICE float exponential(float x) { return expf(x); }
DEVICE float lse_of(float row_max, float sum) { return row_max + logf(sum); }
#endif

#if KV_SOURCE == KV_SOURCE_SHARED_F32
using Staged = float;
#else
using Staged = elem;
#endif

DEVICE void unpack8(uint4 word, float (&values)[kVec]) {
  unpack2(word.x, values[0], values[1]);
  unpack2(word.y, values[2], values[3]);
  unpack2(word.z, values[4], values[5]);
  unpack2(word.w, values[6], values[7]);
}

DEVICE void read8(const elem* from, float (&values)[kVec]) {
  unpack8(*reinterpret_cast<const uint4*>(from), values);
}

DEVICE void read8(const float* from, float (&values)[kVec]) {
  const float4 low = *reinterpret_cast<const float4*>(from);
  const float4 high = *reinterpret_cast<const float4*>(from + 4);
  values[0] = low.x, values[1] = low.y, values[2] = low.z, values[3] = low.w;
  values[4] = high.x, values[5] = high.y, values[6] = high.z, values[7] = high.w;
}

/// The query row: as floats, or as the packed 16-bit words it came in, at half the registers.
struct QueryRow {
  float values[kPackedQ ? 1 : HEAD_DIM];
  uint4 words[kPackedQ ? HEAD_DIM / kVec : 1];

  DEVICE void load(const elem* row) {
#pragma unroll
    for (int c = 0; c < HEAD_DIM / kVec; ++c) {
      const uint4 word = *reinterpret_cast<const uint4*>(row + c * kVec);
      if constexpr (kPackedQ) {
        words[c] = word;
      } else {
        float chunk[kVec];
        unpack8(word, chunk);
#pragma unroll
        for (int e = 0; e < kVec; ++e) values[c * kVec + e] = chunk[e];
      }
    }
  }

  DEVICE void chunk(int c, float (&into)[kVec]) const {
    if constexpr (kPackedQ) {
      unpack8(words[c], into);
    } else {
#pragma unroll
      for (int e = 0; e < kVec; ++e) into[e] = values[c * kVec + e];
    }
  }
};

/// Online softmax of one row: `acc` and `row_sum` are relative to `row_max`.
struct RowState {
  float acc[HEAD_DIM];
  float row_max = NEG_INF;
  float row_sum = 0.0f;
};

/// BLOCK_N keys from `first_key` on; `k` and `v` give the address of a key's row. Keys from
/// `visible` on count nothing.
template <typename KRows, typename VRows>
DEVICE void attend(const QueryRow& query, RowState& state, const KRows& k, const VRows& v,
                   i32 first_key, i32 visible) {
  float scores[BLOCK_N];
  float row_max = state.row_max;
#pragma unroll
  for (int j = 0; j < BLOCK_N; ++j) {
    float dot = 0.0f;
    const auto* key = k.row(j);
#pragma unroll
    for (int c = 0; c < HEAD_DIM / kVec; ++c) {
      float a[kVec], b[kVec];
      query.chunk(c, a);
      read8(key + c * kVec, b);
#pragma unroll
      for (int e = 0; e < kVec; ++e) dot += a[e] * b[e];
    }
    scores[j] = first_key + j < visible ? dot * kScoreScale : NEG_INF;
    row_max = fmaxf(row_max, scores[j]);
  }
  if (row_max == NEG_INF) return;

  if (row_max > state.row_max) {
    const float rescale = exponential(state.row_max - row_max);
    state.row_sum *= rescale;
#pragma unroll
    for (int d = 0; d < HEAD_DIM; ++d) state.acc[d] *= rescale;
    state.row_max = row_max;
  }
#pragma unroll
  for (int j = 0; j < BLOCK_N; ++j) {
    const float p = exponential(scores[j] - row_max);
    state.row_sum += p;
    const auto* value = v.row(j);
#pragma unroll
    for (int c = 0; c < HEAD_DIM / kVec; ++c) {
      float b[kVec];
      read8(value + c * kVec, b);
#pragma unroll
      for (int e = 0; e < kVec; ++e) state.acc[c * kVec + e] += p * b[e];
    }
  }
}

/// Rows of KTensor or VTensor in global memory; past the last key it repeats that key, whose P is
/// then zero.
template <typename Tensor>
struct GlobalRows {
  const elem* head;
  i32 first_key;
  DEVICE const elem* row(int j) const {
    return head + static_cast<i64>(min_of(first_key + j, SEQ_KV - 1)) * Tensor::kRow;
  }
};

struct SharedRows {
  const Staged* tile;
  DEVICE const Staged* row(int j) const { return tile + j * HEAD_DIM; }
};

/// All threads bring BLOCK_N rows into `tile`; rows past the end become zeros.
template <typename Tensor>
DEVICE void stage(Staged* tile, const elem* head, i32 first_key) {
  const elem* source = head + static_cast<i64>(first_key) * Tensor::kRow;
#if KV_SOURCE == KV_SOURCE_SHARED_F32
  for (int i = threadIdx.x; i < BLOCK_N * HEAD_DIM; i += THREADS) {
    const int row = i / HEAD_DIM;
    const auto from = Tensor::kRow == HEAD_DIM ? i : row * Tensor::kRow + i % HEAD_DIM;
    tile[i] = row < SEQ_KV - first_key ? to_float(source[from]) : 0.0f;
  }
#elif KV_SOURCE == KV_SOURCE_SHARED
  copy_rows<BLOCK_N, HEAD_DIM, Tensor::kRow, HEAD_DIM, kVec, THREADS>(tile, source,
                                                                      SEQ_KV - first_key);
#endif
}

DEVICE void store(const RowState& state, elem* row) {
  const float inverse = state.row_sum == 0.0f ? 0.0f : 1.0f / state.row_sum;
#pragma unroll
  for (int c = 0; c < HEAD_DIM / kVec; ++c) {
    const float* from = state.acc + c * kVec;
    uint4 word;
    word.x = pack2(from[0] * inverse, from[1] * inverse);
    word.y = pack2(from[2] * inverse, from[3] * inverse);
    word.z = pack2(from[4] * inverse, from[5] * inverse);
    word.w = pack2(from[6] * inverse, from[7] * inverse);
    *reinterpret_cast<uint4*>(row + c * kVec) = word;
  }
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    fa_rows_main(const elem* __restrict__ q, const elem* __restrict__ k, const elem* __restrict__ v,
                 elem* __restrict__ out, float* __restrict__ lse) {
  const i64 head = blockIdx.x / kMBlocks;
  const i32 first_row = static_cast<i32>(blockIdx.x % kMBlocks) * THREADS;
  const i32 row = first_row + static_cast<i32>(threadIdx.x);
  const bool inside = row < SEQ_Q;
  const elem* k_head = k + kv_offset<KTensor>(head);
  const elem* v_head = v + kv_offset<VTensor>(head);
  const i64 readable_row = min_of(row, SEQ_Q - 1);

  QueryRow query;
  query.load(q + (QTensor::head(head) + readable_row * QTensor::kRow));
  RowState state;
#pragma unroll
  for (int d = 0; d < HEAD_DIM; ++d) state.acc[d] = 0.0f;
  const i32 visible = inside ? key_end(row) : 0;

  if constexpr (kStaged) {
    __shared__ __align__(16) Staged k_tile[kStaged ? BLOCK_N * HEAD_DIM : 1];
    __shared__ __align__(16) Staged v_tile[kStaged ? BLOCK_N * HEAD_DIM : 1];
    const i32 needed = key_end(min_of(first_row + THREADS, SEQ_Q) - 1);
    for (i32 first_key = 0; first_key < needed; first_key += BLOCK_N) {
      __syncthreads();
      stage<KTensor>(k_tile, k_head, first_key);
      stage<VTensor>(v_tile, v_head, first_key);
      copy_commit();
      copy_wait<0>();
      __syncthreads();
      attend(query, state, SharedRows{k_tile}, SharedRows{v_tile}, first_key, visible);
    }
  } else {
    for (i32 first_key = 0; first_key < visible; first_key += BLOCK_N) {
      attend(query, state, GlobalRows<KTensor>{k_head, first_key},
             GlobalRows<VTensor>{v_head, first_key}, first_key, visible);
    }
  }
  if (inside) store(state, out + (OutTensor::head(head) + readable_row * OutTensor::kRow));
#if LSE
  if (inside) lse[head * SEQ_Q + row] = lse_of(state.row_max, state.row_sum);
#endif
}
