// hybrid_qkt.cu - softmax and product with V, fused on mma.sync tensor cores, over rows of scaled
// scores that a library's Q K^T left in memory.
//
// One block owns BLOCK_M query rows of one head and walks over the keys in tiles of BLOCK_N. Scores
// go from device memory straight to the registers that hold accumulators elsewhere; V goes through
// shared memory, its keys in the order InOctets. notes.md has the layouts.
#define SCALED_SCORES
#include "common/mma_epilogue.cuh"
#include "common/mma_products.cuh"
#include "common/mma_softmax.cuh"
#include "common/octet_ring.cuh"
#include "common/score_rows.cuh"

constexpr int kThreads = NUM_WARPS * 32;
constexpr int kMTiles = BLOCK_M / (16 * NUM_WARPS);  // 16-row tiles of a warp
constexpr int kNTiles = BLOCK_N / 8;
constexpr int kSpans = BLOCK_N / 32;  // a lane has one octet of each, in every row
constexpr bool kRaggedKeys = SEQ_KV % BLOCK_N != 0;
constexpr bool kRaggedOctets = kKeyPitch % BLOCK_N != 0;
constexpr Rescale kRescale = RESCALE == RESCALE_LAZY ? Rescale::kLazy : Rescale::kAlways;
constexpr bool kAnyMask = CAUSAL != 0 || kRaggedKeys;
constexpr bool kWide = SCORE_TYPE == SCORE_TYPE_F32;
static_assert(kMTiles * 16 * NUM_WARPS == BLOCK_M, "every warp owns whole 16-row tiles");

using score = ScoreType<kWide>::type;
using WarpState = State<kMTiles, kDTiles>;
using WarpScores = Scores<kMTiles, kNTiles>;
using Ring = OctetRing<kThreads, BLOCK_N, STAGES, 1>;

/// A lane's scores of one tile as they came from memory.
struct Raw {
  ScoreType<kWide>::Octet at[kMTiles][2][kSpans];
};

/// Where a lane reads its rows' scores: the first octet of the block's first row, and how far the
/// lane's rows are from there. Rows past the last read that one again; nobody stores them.
struct ScoreRows {
  const score* first;
  int offset[kMTiles][2];

  DEVICE ScoreRows(const score* scores, const Place& place) {
    const i64 row = static_cast<i64>(place.head) * SEQ_Q + place.block_row;
    first = scores + row * kKeyPitch + place.lane % 4 * 8;
#pragma unroll
    for (int m = 0; m < kMTiles; ++m) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        offset[m][half] = min(place.row(m, half), SEQ_Q - 1 - place.block_row) * kKeyPitch;
      }
    }
  }

  DEVICE void load(Raw& raw, int lane_key, int first_key) const {
#pragma unroll
    for (int m = 0; m < kMTiles; ++m) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
#pragma unroll
        for (int span = 0; span < kSpans; ++span) {
          const int key = first_key + 32 * span;
          if (kRaggedOctets && key + lane_key >= kKeyPitch) {
            raw.at[m][half][span] = {};
          } else {
            raw.at[m][half][span].load(first + offset[m][half] + key);
          }
        }
      }
    }
  }
};

/// Octet `span` of a row is the lane's part of tiles 4 * span .. 4 * span + 3, two keys a tile.
DEVICE void unpack(WarpScores& scores, const Raw& raw) {
#pragma unroll
  for (int m = 0; m < kMTiles; ++m) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
#pragma unroll
      for (int span = 0; span < kSpans; ++span) {
        float values[8];
        raw.at[m][half][span].unpack(values);
#pragma unroll
        for (int i = 0; i < 8; ++i) scores.at[m][4 * span + i / 2][2 * half + i % 2] = values[i];
      }
    }
  }
}

extern "C" __global__ void __launch_bounds__(kThreads, 1)
    hybrid_qkt(const score* __restrict__ scores, const elem* __restrict__ v,
               elem* __restrict__ out) {
  extern __shared__ __align__(128) u8 shared[];
  const u32 base = shared_address(shared);
  const Place place = place_in_row_block<BLOCK_M, kMTiles>();
  const int last_row = min(place.block_row + BLOCK_M, SEQ_Q) - 1;
  const int count = ceil_div(visible_keys(last_row), BLOCK_N);
  const int open = visible_keys(place.block_row) / BLOCK_N;  // the first tiles need no mask

  const Ring ring(base, v + key_offset(place.head), count);
  ring.start();
  const ScoreRows rows(scores, place);
  const Fragments fragment = row_fragments(base, place.lane);
  const int lane_key = place.lane % 4 * 8;

  WarpState state;
  Raw raw;
  if (PREFETCH && count > 0) rows.load(raw, lane_key, 0);
  int slot = 0;
#pragma unroll 1
  for (int tile = 0; tile < count; ++tile) {
    const int first_key = tile * BLOCK_N;
    WarpScores tile_scores;
    if (!PREFETCH) rows.load(raw, lane_key, first_key);
    unpack(tile_scores, raw);
    if (PREFETCH && tile + 1 < count) rows.load(raw, lane_key, first_key + BLOCK_N);
    if (kAnyMask && tile >= open) {
      mask_scores<kRaggedKeys, 1, InOctets>(tile_scores, place.block_row + place.row(0, 0),
                                            first_key + lane_key);
    }
    Weights<kMTiles, kNTiles> weights;
    soften<kRescale, kAnyMask>(weights, state, tile_scores, tile == 0);
    ring.advance(tile, slot);
    multiply_pv(state, weights, fragment.in_slot(slot * Ring::kTileBytes));
    slot = slot + 1 == STAGES ? 0 : slot + 1;
  }
  cp_async_wait<0>();
  __syncthreads();  // every warp is done with V, whose place the finished rows take
  finish<BLOCK_M, 1, kThreads>(out + query_offset(place.head), shared, shared, state, place);
}
