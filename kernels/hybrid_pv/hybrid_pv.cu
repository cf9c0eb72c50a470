// hybrid_pv.cu - Q K^T and softmax on mma.sync tensor cores, written as finished weights for a
// library's product with V.
//
// One block owns BLOCK_M query rows of one head and walks over the keys twice, in tiles of BLOCK_N:
// first for every row's peak and sum, then to write its weights. The second walk multiplies Q and K
// again: notes.md says why that costs less than writing scores that are not yet weights. Keys lie
// in the order InOctets, so that a lane stores 8 neighbouring weights at once.
#include "common/mma_epilogue.cuh"
#include "common/mma_products.cuh"
#include "common/mma_softmax.cuh"
#include "common/octet_ring.cuh"
#include "common/score_rows.cuh"

constexpr int kThreads = NUM_WARPS * 32;
constexpr int kMTiles = BLOCK_M / (16 * NUM_WARPS);  // 16-row tiles of a warp
constexpr int kNTiles = BLOCK_N / 8;
constexpr int kSpans = BLOCK_N / 32;  // a lane has one octet of each, in every row
constexpr int kQBytes = BLOCK_M * kRowBytes;
constexpr int kKeyTiles = ceil_div(SEQ_KV, BLOCK_N);
constexpr bool kRaggedKeys = SEQ_KV % BLOCK_N != 0;
constexpr bool kRaggedRows = SEQ_Q % BLOCK_M != 0;
constexpr bool kRaggedOctets = kKeyPitch % BLOCK_N != 0;
constexpr bool kAnyMask = CAUSAL != 0 || kRaggedKeys;
static_assert(kMTiles * 16 * NUM_WARPS == BLOCK_M, "every warp owns whole 16-row tiles");

using WarpScores = Scores<kMTiles, kNTiles>;
using Ring = OctetRing<kThreads, BLOCK_N, STAGES, 2>;

/// Peak and sum of each row: of this lane's keys until close(), then of all. A row that has seen no
/// key has the peak -inf and the sum 0.
struct RowSums {
  float peak[kMTiles][2];
  float sum[kMTiles][2];

  DEVICE RowSums() {
#pragma unroll
    for (int m = 0; m < kMTiles; ++m) {
      peak[m][0] = peak[m][1] = NEG_INF;
      sum[m][0] = sum[m][1] = 0.0f;
    }
  }

  DEVICE static float finite(float value) { return value == NEG_INF ? 0.0f : value; }

  DEVICE void add(const WarpScores& scores) {
#pragma unroll
    for (int m = 0; m < kMTiles; ++m) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float top = peak[m][half];
#pragma unroll
        for (int n = 0; n < kNTiles; ++n) {
          top = fmaxf(top, fmaxf(scores.at[m][n][2 * half], scores.at[m][n][2 * half + 1]));
        }
        const float offset = -finite(top) * kScale;
        float total = sum[m][half] * fast_exp2(fmaf(peak[m][half], kScale, offset));
#pragma unroll
        for (int n = 0; n < kNTiles; ++n) {
          total += fast_exp2(fmaf(scores.at[m][n][2 * half], kScale, offset));
          total += fast_exp2(fmaf(scores.at[m][n][2 * half + 1], kScale, offset));
        }
        peak[m][half] = top;
        sum[m][half] = total;
      }
    }
  }

  /// Joins the four lanes of a row; `sum` becomes what a weight is multiplied by, `peak` is finite.
  DEVICE void close() {
#pragma unroll
    for (int m = 0; m < kMTiles; ++m) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const float top = finite(warp_max<4>(peak[m][half]));
        const float total = warp_sum<4>(sum[m][half] * fast_exp2((peak[m][half] - top) * kScale));
        peak[m][half] = top;
        sum[m][half] = total == 0.0f ? 0.0f : kWeightScale / total;
      }
    }
  }
};

/// Where a lane writes its rows' weights.
struct WeightRows {
  elem* first;  // the lane's first octet of the block's first row
  int rows_left;
  int lane_key;

  DEVICE WeightRows(elem* weights, const Place& place) {
    lane_key = place.lane % 4 * 8;
    const i64 row = static_cast<i64>(place.head) * SEQ_Q + place.block_row;
    first = weights + row * kKeyPitch + lane_key;
    rows_left = SEQ_Q - place.block_row;
  }

  DEVICE void store(int row, int key, uint4 octet) const {
    if (kRaggedRows && row >= rows_left) return;
    if (kRaggedOctets && key + lane_key >= kKeyPitch) return;
    *reinterpret_cast<uint4*>(first + row * kKeyPitch + key) = octet;
  }

  DEVICE void store_tile(const WarpScores& scores, const RowSums& sums, const Place& place,
                         int first_key) const {
#pragma unroll
    for (int m = 0; m < kMTiles; ++m) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const float offset = -sums.peak[m][half] * kScale;
#pragma unroll
        for (int span = 0; span < kSpans; ++span) {
          float values[8];
#pragma unroll
          for (int i = 0; i < 8; ++i) {
            const float score = scores.at[m][4 * span + i / 2][2 * half + i % 2];
            values[i] = fast_exp2(fmaf(score, kScale, offset)) * sums.sum[m][half];
          }
          store(place.row(m, half), first_key + 32 * span, pack_octet(values));
        }
      }
    }
  }

  /// Keys that no row of the block sees: the product with V reads them, too.
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
    hybrid_pv(const elem* __restrict__ q, const elem* __restrict__ k, elem* __restrict__ weights) {
  extern __shared__ __align__(128) u8 shared[];
  const u32 base = shared_address(shared);
  const Place place = place_in_row_block<BLOCK_M, kMTiles>();
  const int last_row = min(place.block_row + BLOCK_M, SEQ_Q) - 1;
  const int count = ceil_div(visible_keys(last_row), BLOCK_N);
  const int open = visible_keys(place.block_row) / BLOCK_N;  // the first tiles need no mask

  const Copier<kThreads> q_copier(base);
  const i64 first_row = query_offset(place.head) + static_cast<i64>(place.block_row) * HEAD_DIM;
  q_copier.copy<BLOCK_M, kRaggedRows>(0, q + (first_row + q_copier.from), SEQ_Q - place.block_row);
  const Ring ring(base + kQBytes, k + key_offset(place.head), count);
  ring.start();

  const u32 own_rows = base + place.first_row * kRowBytes;
  const QueryRows<kMTiles, false> q_rows(row_fragments(own_rows, place.lane));
  const Fragments k_fragment = key_fragments(base + kQBytes, place.lane);
  const WeightRows rows(weights, place);
  RowSums sums;
  int slot = 0;
#pragma unroll 1
  for (int visit = 0; visit < 2 * count; ++visit) {
    const int tile = ring.tile_of(visit);
    const int first_key = tile * BLOCK_N;
    if (visit == count) sums.close();
    ring.advance(visit, slot);
    WarpScores scores;
    multiply_qk(scores, q_rows, k_fragment.in_slot(slot * Ring::kTileBytes));
    if (kAnyMask && tile >= open) {
      mask_scores<kRaggedKeys, 1, InOctets>(scores, place.block_row + place.row(0, 0),
                                            first_key + rows.lane_key);
    }
    if (visit < count) {
      sums.add(scores);
    } else {
      rows.store_tile(scores, sums, place, first_key);
    }
    slot = slot + 1 == STAGES ? 0 : slot + 1;
  }
  if (CAUSAL != 0) {
#pragma unroll 1
    for (int tile = count; tile < kKeyTiles; ++tile) rows.store_zeros(place, tile * BLOCK_N);
  }
}
