// hybrid_pv.cu: Computes QK^T and softmax on mma.sync, and writes P, normalised, to memory for a
// library's PV.
//
// One CTA owns BLOCK_M query rows of one head and iterates over the KV blocks of BLOCK_N keys
// twice: first for row_max and row_sum, then to write P. The second pass computes QK^T again:
// notes.md says why that costs less than writing S. Keys lie in the order InOctets, so that a lane
// stores 8 neighbouring elements of P at once.
#include "common/mma_epilogue.cuh"
#include "common/mma_products.cuh"
#include "common/mma_softmax.cuh"
#include "common/octet_pipeline.cuh"
#include "common/score_rows.cuh"

constexpr int kThreads = NUM_WARPS * 32;
constexpr int kMTiles = BLOCK_M / (16 * NUM_WARPS);  // 16-row tiles of a warp
constexpr int kNTiles = BLOCK_N / 8;
constexpr int kSpans = BLOCK_N / 32;  // a lane has one octet of each, in every row
constexpr int kQBytes = BLOCK_M * kRowBytes;
constexpr int kNBlocks = ceil_div(SEQ_KV, BLOCK_N);
constexpr bool kRaggedKeys = SEQ_KV % BLOCK_N != 0;
constexpr bool kRaggedRows = SEQ_Q % BLOCK_M != 0;
constexpr bool kRaggedOctets = kKeyPitch % BLOCK_N != 0;
constexpr bool kAnyMask = CAUSAL != 0 || kRaggedKeys;
static_assert(kMTiles * 16 * NUM_WARPS == BLOCK_M, "every warp owns whole 16-row tiles");

using WarpScores = Scores<kMTiles, kNTiles>;
using Pipeline = OctetPipeline<KTensor, kThreads, BLOCK_N, STAGES, 2>;
static_assert(kQBytes + STAGES * Pipeline::kStageBytes == SHARED_BYTES,
              "the launch asks for what is laid out here");

/// row_max and row_sum of each row: of this lane's keys until close(), then of all. A row that has
/// seen no key has row_max -inf and row_sum 0.
struct RowStats {
  float row_max[kMTiles][2];
  float row_sum[kMTiles][2];

  DEVICE RowStats() {
#pragma unroll
    for (int m = 0; m < kMTiles; ++m) {
      row_max[m][0] = row_max[m][1] = NEG_INF;
      row_sum[m][0] = row_sum[m][1] = 0.0f;
    }
  }

  DEVICE static float finite(float value) { return value == NEG_INF ? 0.0f : value; }

  DEVICE void add(const WarpScores& scores) {
#pragma unroll
    for (int m = 0; m < kMTiles; ++m) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float top = row_max[m][half];
#pragma unroll
        for (int n = 0; n < kNTiles; ++n) {
          top = fmaxf(top, fmaxf(scores.at[m][n][2 * half], scores.at[m][n][2 * half + 1]));
        }
        const float offset = -finite(top) * kScale;
        float total = row_sum[m][half] * fast_exp2(fmaf(row_max[m][half], kScale, offset));
#pragma unroll
        for (int n = 0; n < kNTiles; ++n) {
          total += fast_exp2(fmaf(scores.at[m][n][2 * half], kScale, offset));
          total += fast_exp2(fmaf(scores.at[m][n][2 * half + 1], kScale, offset));
        }
        row_max[m][half] = top;
        row_sum[m][half] = total;
      }
    }
  }

  /// Reduces over the four lanes of a row; row_sum becomes the factor of P, row_max is finite.
  DEVICE void close() {
#pragma unroll
    for (int m = 0; m < kMTiles; ++m) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const float top = finite(warp_max<4>(row_max[m][half]));
        const float total =
            warp_sum<4>(row_sum[m][half] * fast_exp2((row_max[m][half] - top) * kScale));
        row_max[m][half] = top;
        row_sum[m][half] = total == 0.0f ? 0.0f : kPScale / total;
      }
    }
  }
};

/// Where a lane writes its rows of P.
struct PRows {
  elem* first;  // the lane's first octet of the CTA's first row
  int rows_left;
  int lane_key;

  DEVICE PRows(elem* p, const Place& place) {
    lane_key = place.lane % 4 * 8;
    const i64 row = static_cast<i64>(place.head) * SEQ_Q + place.block_row;
    first = p + row * kKeyPitch + lane_key;
    rows_left = SEQ_Q - place.block_row;
  }

  DEVICE void store(int row, int key, uint4 octet) const {
    if (kRaggedRows && row >= rows_left) return;
    if (kRaggedOctets && key + lane_key >= kKeyPitch) return;
    *reinterpret_cast<uint4*>(first + row * kKeyPitch + key) = octet;
  }

  DEVICE void store_block(const WarpScores& scores, const RowStats& stats, const Place& place,
                         int first_key) const {
#pragma unroll
    for (int m = 0; m < kMTiles; ++m) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const float offset = -stats.row_max[m][half] * kScale;
#pragma unroll
        for (int span = 0; span < kSpans; ++span) {
          float values[8];
#pragma unroll
          for (int i = 0; i < 8; ++i) {
            const float score = scores.at[m][4 * span + i / 2][2 * half + i % 2];
            values[i] = fast_exp2(fmaf(score, kScale, offset)) * stats.row_sum[m][half];
          }
          store(place.row(m, half), first_key + 32 * span, pack_octet(values));
        }
      }
    }
  }

  /// Keys that no row of the CTA sees: PV reads them, too.
  DEVICE void store_zeros(const Place& place, int first_key) const {
#pragma unroll
    for (int m = 0; m < kMTiles; ++m) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
#pragma unroll
        for (int span = 0; span < kSpans; ++span)
          store(place.row(m, half), first_key + 32 * span, make_uint4(0, 0, 0, 0));
      }
    }
  }
};

extern "C" __global__ void __launch_bounds__(kThreads, 1)
    hybrid_pv(const elem* __restrict__ q, const elem* __restrict__ k, elem* __restrict__ p) {
  extern __shared__ __align__(128) u8 shared[];
  const u32 base = shared_address(shared);
  const Place place = place_in_row_block<BLOCK_M, kMTiles>();
  const int last_row = min(place.block_row + BLOCK_M, SEQ_Q) - 1;
  const int count = ceil_div(key_end(last_row), BLOCK_N);
  const int unmasked = key_end(place.block_row) / BLOCK_N;  // the first blocks need no mask

  const Copier<kThreads, QTensor> q_copier(base);
  const i64 first_row = QTensor::head(place.head) + i64{place.block_row} * QTensor::kRow;
  q_copier.copy<BLOCK_M, kRaggedRows>(0, q + (first_row + q_copier.from), SEQ_Q - place.block_row);
  const Pipeline pipeline(base + kQBytes, k + kv_offset<KTensor>(place.head), count);
  pipeline.start();

  const u32 own_rows = base + place.first_row * kRowBytes;
  const QueryRows<kMTiles, false> q_rows(row_fragments(own_rows, place.lane));
  const Fragments<KeyRows> k_fragment = key_fragments(base + kQBytes, place.lane);
  const PRows rows(p, place);
  RowStats stats;
  int stage = 0;
#pragma unroll 1
  for (int iteration = 0; iteration < 2 * count; ++iteration) {
    const int n_block = pipeline.n_block_of(iteration);
    const int first_key = n_block * BLOCK_N;
    if (iteration == count) stats.close();
    pipeline.advance(iteration, stage);
    WarpScores scores;
    multiply_qk(scores, q_rows, k_fragment.in_stage(stage * Pipeline::kStageBytes));
    if (kAnyMask && n_block >= unmasked) {
      mask_scores<kRaggedKeys, 1, InOctets>(scores, place.block_row + place.row(0, 0),
                                            first_key + rows.lane_key);
    }
    if (iteration < count) {
      stats.add(scores);
    } else {
      rows.store_block(scores, stats, place, first_key);
    }
    stage = stage + 1 == STAGES ? 0 : stage + 1;
  }
  if (CAUSAL != 0) {
#pragma unroll 1
    for (int n_block = count; n_block < kNBlocks; ++n_block) {
      rows.store_zeros(place, n_block * BLOCK_N);
    }
  }
}
