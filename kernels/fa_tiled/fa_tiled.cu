// fa_tiled.cu: Computes attention with shared-memory tiles and scalar FMAs. A thread owns a small
// patch of S and of O. The threads of a row are neighbouring lanes, so a row's softmax is a few
// shuffles (or, to compare, one thread's loop).
#include "common/copy.cuh"
#include "common/lse.cuh"
#include "common/prelude.cuh"
#include "common/problem.cuh"

constexpr int kLanes = HEAD_DIM % 16 == 0 ? 16 : 8;  // threads that share a row
constexpr int kThreads = BLOCK_M / ROWS_PER_THREAD * kLanes;
constexpr int kRows = ROWS_PER_THREAD;
constexpr int kKeys = BLOCK_N / kLanes;  // a thread's keys: lane, lane + kLanes, ...
constexpr int kCols = HEAD_DIM / kLanes;
constexpr int kPitch = HEAD_DIM + PAD;
constexpr int kPPitch = BLOCK_N + 4;  // floats; 16-byte rows, off by one bank group each
constexpr int kTile = BLOCK_N * kPitch;
constexpr int kMBlocks = ceil_div(SEQ_Q, BLOCK_M);
constexpr bool kSerial = REDUCE == REDUCE_SERIAL;

/// Widest access up to VEC_WIDTH that splits a thread's columns evenly.
__device__ constexpr int value_vec() {
  int width = VEC_WIDTH;
  while (kCols % width != 0) width /= 2;
  return width;
}
constexpr int kValueVec = value_vec();

static_assert(BLOCK_M % ROWS_PER_THREAD == 0 && kThreads % 32 == 0, "whole warps");
static_assert(BLOCK_N % kLanes == 0 && HEAD_DIM % 8 == 0 && PAD % VEC_WIDTH == 0, "whole vectors");

template <int kWidth>
DEVICE void read_vec(const elem* from, float (&to)[kWidth]) {
  if constexpr (kWidth == 1) {
    to[0] = to_float(*from);
  } else if constexpr (kWidth == 2) {
    unpack2(*reinterpret_cast<const u32*>(from), to[0], to[1]);
  } else if constexpr (kWidth == 4) {
    const uint2 word = *reinterpret_cast<const uint2*>(from);
    unpack2(word.x, to[0], to[1]);
    unpack2(word.y, to[2], to[3]);
  } else {
    const uint4 word = *reinterpret_cast<const uint4*>(from);
    unpack2(word.x, to[0], to[1]);
    unpack2(word.y, to[2], to[3]);
    unpack2(word.z, to[4], to[5]);
    unpack2(word.w, to[6], to[7]);
  }
}

template <int kWidth>
DEVICE void write_vec(elem* to, const float* from, float factor) {
  if constexpr (kWidth == 1) {
    *to = from_float(from[0] * factor);
  } else {
    u32 words[kWidth / 2];
#pragma unroll
    for (int i = 0; i < kWidth / 2; ++i)
      words[i] = pack2(from[2 * i] * factor, from[2 * i + 1] * factor);
    if constexpr (kWidth == 2) *reinterpret_cast<u32*>(to) = words[0];
    if constexpr (kWidth == 4) *reinterpret_cast<uint2*>(to) = make_uint2(words[0], words[1]);
    if constexpr (kWidth == 8)
      *reinterpret_cast<uint4*>(to) = make_uint4(words[0], words[1], words[2], words[3]);
  }
}

struct Shared {
  elem* q;         // BLOCK_M rows of kPitch
  elem* k;         // SMEM_STAGE stages of BLOCK_N rows
  elem* v;         // likewise
  float* p;        // BLOCK_M rows of kPPitch: S, then P = exp(S - row_max)
  float* factors;  // REDUCE=serial only: one per row
};

DEVICE Shared carve(u8* base) {
  Shared shared;
  shared.q = reinterpret_cast<elem*>(base);
  shared.k = shared.q + BLOCK_M * kPitch;
  shared.v = shared.k + SMEM_STAGE * kTile;
  shared.p = reinterpret_cast<float*>(shared.v + SMEM_STAGE * kTile);
  shared.factors = shared.p + BLOCK_M * kPPitch;
  return shared;
}

static_assert((BLOCK_M * kPitch + 2 * SMEM_STAGE * kTile) * sizeof(elem) +
                      (BLOCK_M * kPPitch + (kSerial ? BLOCK_M : 0)) * sizeof(float) ==
                  SHARED_BYTES,
              "the launch asks for what is laid out here");

/// What a thread keeps from tile to tile. The statistics belong to its kRows rows (warp) or to row
/// threadIdx.x (serial).
struct State {
  float acc[kRows][kCols];
  float row_max[kSerial ? 1 : kRows];
  float row_sum[kSerial ? 1 : kRows];
};

DEVICE void compute_s(const elem* q_rows, const elem* k_tile, int lane,
                      float (&scores)[kRows][kKeys]) {
#pragma unroll
  for (int m = 0; m < kRows; ++m) {
#pragma unroll
    for (int n = 0; n < kKeys; ++n) scores[m][n] = 0.0f;
  }
#pragma unroll 2
  for (int d = 0; d < HEAD_DIM; d += VEC_WIDTH) {
    float keys[kKeys][VEC_WIDTH];
#pragma unroll
    for (int n = 0; n < kKeys; ++n)
      read_vec<VEC_WIDTH>(k_tile + (lane + n * kLanes) * kPitch + d, keys[n]);
#pragma unroll
    for (int m = 0; m < kRows; ++m) {
      float query[VEC_WIDTH];
      read_vec<VEC_WIDTH>(q_rows + m * kPitch + d, query);
#pragma unroll
      for (int n = 0; n < kKeys; ++n) {
#pragma unroll
        for (int e = 0; e < VEC_WIDTH; ++e) scores[m][n] += query[e] * keys[n][e];
      }
    }
  }
}

/// The lanes of a row agree on its maximum by shuffles; each adds up its own part of row_sum until
/// the end.
DEVICE void softmax_warp(float (&scores)[kRows][kKeys], float* p, int lane, State& state) {
#pragma unroll
  for (int m = 0; m < kRows; ++m) {
    float row_max = state.row_max[m];
#pragma unroll
    for (int n = 0; n < kKeys; ++n) row_max = fmaxf(row_max, scores[m][n]);
    row_max = warp_max<kLanes>(row_max);
    const float base = row_max == NEG_INF ? 0.0f : row_max;
    const float rescale = fast_exp2(state.row_max[m] - base);
    state.row_max[m] = row_max;
    state.row_sum[m] *= rescale;
#pragma unroll
    for (int c = 0; c < kCols; ++c) state.acc[m][c] *= rescale;
#pragma unroll
    for (int n = 0; n < kKeys; ++n) {
      const float e = fast_exp2(scores[m][n] - base);
      state.row_sum[m] += e;
      p[m * kPPitch + lane + n * kLanes] = e;
    }
  }
  __syncwarp();
}

/// S goes through shared memory, and thread r alone works on row r.
DEVICE void softmax_serial(float (&scores)[kRows][kKeys], const Shared& shared, int group, int lane,
                           State& state) {
#pragma unroll
  for (int m = 0; m < kRows; ++m) {
#pragma unroll
    for (int n = 0; n < kKeys; ++n) {
      shared.p[(group * kRows + m) * kPPitch + lane + n * kLanes] = scores[m][n];
    }
  }
  __syncthreads();
  if (threadIdx.x < BLOCK_M) {
    float* row = shared.p + threadIdx.x * kPPitch;
    float row_max = state.row_max[0];
    for (int j = 0; j < BLOCK_N; ++j) row_max = fmaxf(row_max, row[j]);
    const float base = row_max == NEG_INF ? 0.0f : row_max;
    const float rescale = fast_exp2(state.row_max[0] - base);
    float sum = state.row_sum[0] * rescale;
    for (int j = 0; j < BLOCK_N; ++j) {
      const float e = fast_exp2(row[j] - base);
      sum += e;
      row[j] = e;
    }
    state.row_max[0] = row_max;
    state.row_sum[0] = sum;
    shared.factors[threadIdx.x] = rescale;
  }
  __syncthreads();
#pragma unroll
  for (int m = 0; m < kRows; ++m) {
#pragma unroll
    for (int c = 0; c < kCols; ++c) state.acc[m][c] *= shared.factors[group * kRows + m];
  }
}

/// PV of the KV block, added to the thread's patch of O.
DEVICE void add_pv(const float* p, const elem* v_tile, int lane, State& state) {
#pragma unroll 2
  for (int j = 0; j < BLOCK_N; j += 4) {
    float p_row[kRows][4];
#pragma unroll
    for (int m = 0; m < kRows; ++m) {
      const float4 four = *reinterpret_cast<const float4*>(p + m * kPPitch + j);
      p_row[m][0] = four.x, p_row[m][1] = four.y, p_row[m][2] = four.z, p_row[m][3] = four.w;
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
#pragma unroll
      for (int c = 0; c < kCols; c += kValueVec) {
        float values[kValueVec];
        read_vec<kValueVec>(v_tile + (j + i) * kPitch + c * kLanes + lane * kValueVec, values);
#pragma unroll
        for (int m = 0; m < kRows; ++m) {
#pragma unroll
          for (int e = 0; e < kValueVec; ++e) state.acc[m][c + e] += p_row[m][i] * values[e];
        }
      }
    }
  }
}

/// Where the log-sum-exps of a block's rows go, if the problem wants them.
struct LseRows {
  float* first;
  i32 rows;  // that exist
  DEVICE void put(int row, float row_max, float sum) const {
#if LSE
    if (row < rows) first[row] = log_sum_exp2(row_max, sum);
#endif
  }
};

/// 1 / row_sum of each of the thread's rows, 0 for a row that saw no key; the row's log-sum-exp is
/// written where its row_sum is known.
DEVICE void inverse_row_sums(const Shared& shared, int group, int lane, const LseRows& lse,
                         State& state, float (&inverse)[kRows]) {
  if constexpr (kSerial) {
    __syncthreads();
    if (threadIdx.x < BLOCK_M) {
      shared.factors[threadIdx.x] = state.row_sum[0] == 0.0f ? 0.0f : 1.0f / state.row_sum[0];
      lse.put(static_cast<int>(threadIdx.x), state.row_max[0], state.row_sum[0]);
    }
    __syncthreads();
#pragma unroll
    for (int m = 0; m < kRows; ++m) inverse[m] = shared.factors[group * kRows + m];
  } else {
#pragma unroll
    for (int m = 0; m < kRows; ++m) {
      const float sum = warp_sum<kLanes>(state.row_sum[m]);
      inverse[m] = sum == 0.0f ? 0.0f : 1.0f / sum;
      if (lane == 0) lse.put(group * kRows + m, state.row_max[m], sum);
    }
  }
}

DEVICE void copy_keys(const Shared& shared, const elem* k_head, const elem* v_head, int tile) {
  const i32 first_key = tile * BLOCK_N;
  const i64 k_from = i64{first_key} * KTensor::kRow;
  const i64 v_from = i64{first_key} * VTensor::kRow;
  const int slot = tile % SMEM_STAGE * kTile;
  copy_rows<BLOCK_N, HEAD_DIM, KTensor::kRow, kPitch, VEC_WIDTH, kThreads>(
      shared.k + slot, k_head + k_from, SEQ_KV - first_key);
  copy_rows<BLOCK_N, HEAD_DIM, VTensor::kRow, kPitch, VEC_WIDTH, kThreads>(
      shared.v + slot, v_head + v_from, SEQ_KV - first_key);
  copy_commit();
}

extern "C" __global__ void __launch_bounds__(kThreads, 1)
    fa_tiled_main(const elem* __restrict__ q, const elem* __restrict__ k,
                  const elem* __restrict__ v, elem* __restrict__ out, float* __restrict__ lse) {
  extern __shared__ __align__(16) u8 shared_bytes[];
  const Shared shared = carve(shared_bytes);
  const i64 head = blockIdx.x / kMBlocks;
  const i32 block_row = static_cast<i32>(blockIdx.x % kMBlocks) * BLOCK_M;
  const int group = static_cast<int>(threadIdx.x) / kLanes;
  const int lane = static_cast<int>(threadIdx.x) % kLanes;
  const i32 first_row = block_row + group * kRows;
  const elem* k_head = k + kv_offset<KTensor>(head);
  const elem* v_head = v + kv_offset<VTensor>(head);
  const int tiles = ceil_div(key_end(min_of(block_row + BLOCK_M, SEQ_Q) - 1), BLOCK_N);

  const elem* q_block = q + QTensor::head(head) + i64{block_row} * QTensor::kRow;
  copy_rows<BLOCK_M, HEAD_DIM, QTensor::kRow, kPitch, VEC_WIDTH, kThreads>(shared.q, q_block,
                                                                           SEQ_Q - block_row);
  if (SMEM_STAGE == 2 && tiles > 0) copy_keys(shared, k_head, v_head, 0);

  State state;
#pragma unroll
  for (int m = 0; m < kRows; ++m) {
#pragma unroll
    for (int c = 0; c < kCols; ++c) state.acc[m][c] = 0.0f;
    state.row_max[kSerial ? 0 : m] = NEG_INF;
    state.row_sum[kSerial ? 0 : m] = 0.0f;
  }

  float* p = shared.p + group * kRows * kPPitch;
  for (int tile = 0; tile < tiles; ++tile) {
    if constexpr (SMEM_STAGE == 1) {
      __syncthreads();
      copy_keys(shared, k_head, v_head, tile);
    }
    copy_wait<0>();
    __syncthreads();
    if (SMEM_STAGE == 2 && tile + 1 < tiles) copy_keys(shared, k_head, v_head, tile + 1);

    float scores[kRows][kKeys];
    compute_s(shared.q + group * kRows * kPitch, shared.k + tile % SMEM_STAGE * kTile, lane,
              scores);
#pragma unroll
    for (int m = 0; m < kRows; ++m) {
      const i32 visible = key_end(first_row + m) - tile * BLOCK_N - lane;
#pragma unroll
      for (int n = 0; n < kKeys; ++n) {
        scores[m][n] = n * kLanes < visible ? scores[m][n] * SOFTMAX_SCALE_LOG2E : NEG_INF;
      }
    }
    if constexpr (kSerial) {
      softmax_serial(scores, shared, group, lane, state);
    } else {
      softmax_warp(scores, p, lane, state);
    }
    add_pv(p, shared.v + tile % SMEM_STAGE * kTile, lane, state);
  }

  float inverse[kRows];
  const LseRows lse_rows{lse + head * SEQ_Q + block_row, SEQ_Q - block_row};
  inverse_row_sums(shared, group, lane, lse_rows, state, inverse);
  elem* out_head = out + OutTensor::head(head);
#pragma unroll
  for (int m = 0; m < kRows; ++m) {
    if (first_row + m >= SEQ_Q) break;
    elem* row = out_head + static_cast<i64>(first_row + m) * OutTensor::kRow;
#pragma unroll
    for (int c = 0; c < kCols; c += kValueVec) {
      write_vec<kValueVec>(row + c * kLanes + lane * kValueVec, state.acc[m] + c, inverse[m]);
    }
  }
}
