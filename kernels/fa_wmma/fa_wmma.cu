// fa_wmma.cu: Computes attention on tensor cores through the toolkit's WMMA fragments. S and P pass
// through shared memory. A warp owns strips of 16 whole rows, so its softmax needs no other warp.
// Where a fragment keeps its elements is not documented: rows of O are scaled by a second fragment,
// loaded so that each element holds its own row's factor.
#include <mma.h>

#include "common/copy.cuh"
#include "common/lse.cuh"
#include "common/prelude.cuh"
#include "common/problem.cuh"

namespace wmma = nvcuda::wmma;

#if DTYPE == DTYPE_F16
using Operand = __half;
#else
using Operand = __nv_bfloat16;
#endif
using QueryFragment = wmma::fragment<wmma::matrix_a, 16, 16, 16, Operand, wmma::row_major>;
using KeyFragment = wmma::fragment<wmma::matrix_b, 16, 16, 16, Operand, wmma::col_major>;
using ValueFragment = wmma::fragment<wmma::matrix_b, 16, 16, 16, Operand, wmma::row_major>;
using Accumulator = wmma::fragment<wmma::accumulator, 16, 16, 16, float>;

constexpr int kThreads = 32 * NUM_WARPS;
constexpr int kStrips = BLOCK_M / (16 * NUM_WARPS);  // strips of 16 rows a warp
constexpr int kSteps = HEAD_DIM / 16;
constexpr int kPitch = HEAD_DIM + LDM_PAD;
constexpr int kTile = BLOCK_N * kPitch;
constexpr int kScorePitch = BLOCK_N + 4;  // floats; P overlays S, two elements to a float
constexpr int kScoreStrip = 16 * kScorePitch;
constexpr int kQueryElems = BLOCK_M * kPitch;
constexpr int kKeyElems = 2 * SMEM_STAGE * kTile;
constexpr int kMBlocks = ceil_div(SEQ_Q, BLOCK_M);
constexpr int kVec = 8;

static_assert(BLOCK_M % (16 * NUM_WARPS) == 0, "each warp owns whole strips");
static_assert(BLOCK_N % 16 == 0 && HEAD_DIM % 16 == 0 && LDM_PAD % 8 == 0,
              "fragments are 16 by 16, rows 16-byte aligned");

struct Shared {
  elem* q;         // BLOCK_M rows; with Q_IN_REGS the key/value tiles overwrite them
  elem* kv;        // SMEM_STAGE times a key tile and a value tile
  float* scores;   // BLOCK_M rows of kScorePitch
  float* factors;  // 16 a warp
};

DEVICE Shared carve(u8* base) {
  Shared shared;
  shared.q = reinterpret_cast<elem*>(base);
  shared.kv = shared.q + (Q_IN_REGS ? 0 : kQueryElems);
  elem* end = Q_IN_REGS ? shared.q + max_of(kQueryElems, kKeyElems) : shared.kv + kKeyElems;
  shared.scores = reinterpret_cast<float*>(end);
  shared.factors = shared.scores + BLOCK_M * kScorePitch;
  return shared;
}

static_assert((Q_IN_REGS ? max_of(kQueryElems, kKeyElems) : kQueryElems + kKeyElems) *
                          sizeof(elem) +
                      (BLOCK_M * kScorePitch + 16 * NUM_WARPS) * sizeof(float) ==
                  SHARED_BYTES,
              "the launch asks for what is laid out here");

DEVICE const Operand* operand(const elem* from) { return reinterpret_cast<const Operand*>(from); }

struct State {
  Accumulator out[kStrips][kSteps];
  float row_max[kStrips];  // of row `lane % 16` of the strip
  float row_sum[kStrips];  // over the half of the keys that this lane handles
};

#if Q_IN_REGS
struct Query {
  QueryFragment fragments[kStrips][kSteps];
  DEVICE void load(const elem* rows) {
#pragma unroll
    for (int s = 0; s < kStrips; ++s) {
#pragma unroll
      for (int d = 0; d < kSteps; ++d) {
        wmma::load_matrix_sync(fragments[s][d], operand(rows + s * 16 * kPitch + d * 16), kPitch);
      }
    }
  }
  DEVICE const QueryFragment& fragment(int s, int d) const { return fragments[s][d]; }
};
#else
struct Query {
  const elem* rows;
  DEVICE void load(const elem* from) { rows = from; }
  DEVICE QueryFragment fragment(int s, int d) const {
    QueryFragment result;
    wmma::load_matrix_sync(result, operand(rows + s * 16 * kPitch + d * 16), kPitch);
    return result;
  }
};
#endif

/// scores = Q K^T for the warp's strips; a key fragment serves all of them.
DEVICE void multiply_qk(const Query& query, const elem* k_tile, float* scores) {
#pragma unroll 1
  for (int n = 0; n < BLOCK_N / 16; ++n) {
    Accumulator sums[kStrips];
#pragma unroll
    for (int s = 0; s < kStrips; ++s) wmma::fill_fragment(sums[s], 0.0f);
#pragma unroll
    for (int d = 0; d < kSteps; ++d) {
      KeyFragment keys;
      wmma::load_matrix_sync(keys, operand(k_tile + n * 16 * kPitch + d * 16), kPitch);
#pragma unroll
      for (int s = 0; s < kStrips; ++s)
        wmma::mma_sync(sums[s], query.fragment(s, d), keys, sums[s]);
    }
#pragma unroll
    for (int s = 0; s < kStrips; ++s) {
      wmma::store_matrix_sync(scores + s * kScoreStrip + n * 16, sums[s], kScorePitch,
                              wmma::mem_row_major);
    }
  }
  __syncwarp();
}

/// Multiplies row r of the strip's output by the factor that lanes r and r + 16 hold.
DEVICE void scale_rows(Accumulator (&out)[kSteps], float factor, float* factors, int lane) {
  if (lane < 16) factors[lane] = factor;
  __syncwarp();
  Accumulator rows;  // column-major with a pitch of 0: every column is the same 16 factors
  wmma::load_matrix_sync(rows, factors, 0, wmma::mem_col_major);
#pragma unroll
  for (int d = 0; d < kSteps; ++d) {
#pragma unroll
    for (int i = 0; i < Accumulator::num_elements; ++i) out[d].x[i] *= rows.x[i];
  }
  __syncwarp();
}

/// Online softmax of one strip, two lanes a row; replaces its S by P in DTYPE.
/// `visible`: keys the row sees.
DEVICE void softmax_strip(State& state, int s, float* scores, float* factors, i32 visible,
                          int lane) {
  const int row = lane % 16;
  const int half = lane / 16;
  constexpr int kQuads = BLOCK_N / 8;
  float values[kQuads][4];
  float row_max = state.row_max[s];
#pragma unroll
  for (int i = 0; i < kQuads; ++i) {
    const int key = (2 * i + half) * 4;
    const float4 quad = *reinterpret_cast<const float4*>(scores + row * kScorePitch + key);
    values[i][0] = quad.x, values[i][1] = quad.y, values[i][2] = quad.z, values[i][3] = quad.w;
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      values[i][e] = key + e < visible ? values[i][e] * SOFTMAX_SCALE_LOG2E : NEG_INF;
      row_max = fmaxf(row_max, values[i][e]);
    }
  }
  row_max = fmaxf(row_max, __shfl_xor_sync(0xffffffffu, row_max, 16));
  const float base = row_max == NEG_INF ? 0.0f : row_max;
  const float rescale = fast_exp2(state.row_max[s] - base);
  state.row_max[s] = row_max;
  float sum = state.row_sum[s] * rescale;

  elem* p = reinterpret_cast<elem*>(scores) + row * 2 * kScorePitch;
#pragma unroll
  for (int i = 0; i < kQuads; ++i) {
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      values[i][e] = fast_exp2(values[i][e] - base);
      sum += values[i][e];
    }
    const uint2 packed =
        make_uint2(pack2(values[i][0], values[i][1]), pack2(values[i][2], values[i][3]));
    *reinterpret_cast<uint2*>(p + (2 * i + half) * 4) = packed;
  }
  state.row_sum[s] = sum;
  if (__any_sync(0xffffffffu, rescale != 1.0f)) scale_rows(state.out[s], rescale, factors, lane);
}

/// O += PV for the warp's strips; a fragment of V serves all of them.
DEVICE void multiply_pv(State& state, const float* scores, const elem* v_tile) {
#pragma unroll 1
  for (int n = 0; n < BLOCK_N / 16; ++n) {
    QueryFragment p[kStrips];
#pragma unroll
    for (int s = 0; s < kStrips; ++s) {
      const elem* strip = reinterpret_cast<const elem*>(scores + s * kScoreStrip);
      wmma::load_matrix_sync(p[s], operand(strip + n * 16), 2 * kScorePitch);
    }
#pragma unroll
    for (int d = 0; d < kSteps; ++d) {
      ValueFragment values;
      wmma::load_matrix_sync(values, operand(v_tile + n * 16 * kPitch + d * 16), kPitch);
#pragma unroll
      for (int s = 0; s < kStrips; ++s)
        wmma::mma_sync(state.out[s][d], p[s], values, state.out[s][d]);
    }
  }
}

/// A head's rows in memory.
struct HeadOutput {
  elem* out;
  float* lse;
};

/// Divides a strip by its row_sum and writes it, 16 columns at a time, through the strip's S.
DEVICE void store_strip(State& state, int s, float* scores, float* factors, const HeadOutput& to,
                        i32 first_row, int lane) {
  const float sum = state.row_sum[s] + __shfl_xor_sync(0xffffffffu, state.row_sum[s], 16);
  scale_rows(state.out[s], sum == 0.0f ? 0.0f : 1.0f / sum, factors, lane);
  const i32 row = first_row + lane % 16;
#if LSE
  if (lane < 16 && row < SEQ_Q) to.lse[row] = log_sum_exp2(state.row_max[s], sum);
#endif
  const int col = lane / 16 * kVec;
#pragma unroll
  for (int d = 0; d < kSteps; ++d) {
    wmma::store_matrix_sync(scores, state.out[s][d], kScorePitch, wmma::mem_row_major);
    __syncwarp();
    const float4 low = *reinterpret_cast<const float4*>(scores + lane % 16 * kScorePitch + col);
    const float4 high =
        *reinterpret_cast<const float4*>(scores + lane % 16 * kScorePitch + col + 4);
    const uint4 packed = make_uint4(pack2(low.x, low.y), pack2(low.z, low.w), pack2(high.x, high.y),
                                    pack2(high.z, high.w));
    if (row < SEQ_Q)
      *reinterpret_cast<uint4*>(to.out + i64{row} * OutTensor::kRow + d * 16 + col) = packed;
    __syncwarp();
  }
}

DEVICE elem* key_tile(const Shared& shared, int tile) {
  return shared.kv + tile % SMEM_STAGE * (2 * kTile);
}

DEVICE void copy_keys(const Shared& shared, const elem* k_head, const elem* v_head, int tile) {
  const i32 first_key = tile * BLOCK_N;
  const i64 k_from = i64{first_key} * KTensor::kRow;
  const i64 v_from = i64{first_key} * VTensor::kRow;
  elem* target = key_tile(shared, tile);
  copy_rows<BLOCK_N, HEAD_DIM, KTensor::kRow, kPitch, kVec, kThreads>(
      target, k_head + k_from, SEQ_KV - first_key);
  copy_rows<BLOCK_N, HEAD_DIM, VTensor::kRow, kPitch, kVec, kThreads>(
      target + kTile, v_head + v_from, SEQ_KV - first_key);
  copy_commit();
}

extern "C" __global__ void __launch_bounds__(kThreads, 1)
    fa_wmma_main(const elem* __restrict__ q, const elem* __restrict__ k, const elem* __restrict__ v,
                 elem* __restrict__ out, float* __restrict__ lse) {
  extern __shared__ __align__(128) u8 shared_bytes[];
  const Shared shared = carve(shared_bytes);
  const i64 head = blockIdx.x / kMBlocks;
  const i32 block_row = static_cast<i32>(blockIdx.x % kMBlocks) * BLOCK_M;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const i32 first_row = block_row + warp * kStrips * 16;
  const elem* k_head = k + kv_offset<KTensor>(head);
  const elem* v_head = v + kv_offset<VTensor>(head);
  float* scores = shared.scores + warp * kStrips * kScoreStrip;
  float* factors = shared.factors + warp * 16;
  const int tiles = ceil_div(key_end(min_of(block_row + BLOCK_M, SEQ_Q) - 1), BLOCK_N);

  const elem* q_block = q + QTensor::head(head) + i64{block_row} * QTensor::kRow;
  copy_rows<BLOCK_M, HEAD_DIM, QTensor::kRow, kPitch, kVec, kThreads>(shared.q, q_block,
                                                                      SEQ_Q - block_row);
  copy_commit();
  copy_wait<0>();
  __syncthreads();
  Query query;
  query.load(shared.q + warp * kStrips * 16 * kPitch);
  if constexpr (SMEM_STAGE == 2) {
    if (Q_IN_REGS) __syncthreads();
    if (tiles > 0) copy_keys(shared, k_head, v_head, 0);
  }

  State state;
#pragma unroll
  for (int s = 0; s < kStrips; ++s) {
    state.row_max[s] = NEG_INF;
    state.row_sum[s] = 0.0f;
#pragma unroll
    for (int d = 0; d < kSteps; ++d) wmma::fill_fragment(state.out[s][d], 0.0f);
  }

  for (int tile = 0; tile < tiles; ++tile) {
    if constexpr (SMEM_STAGE == 1) {
      __syncthreads();
      copy_keys(shared, k_head, v_head, tile);
    }
    copy_wait<0>();
    __syncthreads();
    if (SMEM_STAGE == 2 && tile + 1 < tiles) copy_keys(shared, k_head, v_head, tile + 1);

    const elem* keys = key_tile(shared, tile);
    multiply_qk(query, keys, scores);
#pragma unroll
    for (int s = 0; s < kStrips; ++s) {
      const i32 visible = key_end(first_row + s * 16 + lane % 16) - tile * BLOCK_N;
      softmax_strip(state, s, scores + s * kScoreStrip, factors, visible, lane);
    }
    __syncwarp();
    multiply_pv(state, scores, keys + kTile);
  }

  const HeadOutput to{out + OutTensor::head(head), lse + head * SEQ_Q};
#pragma unroll
  for (int s = 0; s < kStrips; ++s)
    store_strip(state, s, scores + s * kScoreStrip, factors, to, first_row + s * 16, lane);
}
