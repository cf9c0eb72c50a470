// hybrid_qkt.cu: Computes softmax and PV, fused on mma.sync, over rows of scaled S that a library's
// QK^T left in memory.
//
// One CTA owns BLOCK_M query rows of one head and iterates over KV blocks of BLOCK_N keys. S goes
// from device memory straight to the registers of an accumulator; V goes through shared memory, its
// keys in the order InOctets. notes.md has the layouts.
#define SCALED_SCORES
#include "common/mma_epilogue.cuh"
#include "common/mma_products.cuh"
#include "common/mma_softmax.cuh"
#include "common/octet_pipeline.cuh"
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
using Pipeline = OctetPipeline<VTensor, kThreads, BLOCK_N, STAGES, 1>;
static_assert(max_of(STAGES * Pipeline::kStageBytes, BLOCK_M * kRowBytes) == SHARED_BYTES,
              "the launch asks for what is laid out here");

/// A lane's S of one KV block as it came from memory.
struct Raw {
  ScoreType<kWide>::Octet at[kMTiles][2][kSpans];
};

/// Where a lane reads its rows of S: the first octet of the CTA's first row, and how far the lane's
/// rows are from there. Rows past the last read that one again; they are not stored.
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

/// Octet `span` of a row is the lane's part of 8-key tiles 4 * span to 4 * span + 3, two keys a
/// tile.
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
  const int count = ceil_div(key_end(last_row), BLOCK_N);
  const int unmasked = key_end(place.block_row) / BLOCK_N;  // the first blocks need no mask

  const Pipeline pipeline(base, v + kv_offset<VTensor>(place.head), count);
  pipeline.start();
  const ScoreRows rows(scores, place);
  const Fragments<ValueRows> fragment = row_fragments<ValueRows>(base, place.lane);
  const int lane_key = place.lane % 4 * 8;

  WarpState state(kAnyMask);
  Raw raw;
  if (PREFETCH && count > 0) rows.load(raw, lane_key, 0);
  int stage = 0;
#pragma unroll 1
  for (int n_block = 0; n_block < count; ++n_block) {
    const int first_key = n_block * BLOCK_N;
    WarpScores block_scores;
    if (!PREFETCH) rows.load(raw, lane_key, first_key);
    unpack(block_scores, raw);
    if (PREFETCH && n_block + 1 < count) rows.load(raw, lane_key, first_key + BLOCK_N);
    if (kAnyMask && n_block >= unmasked) {
      mask_scores<kRaggedKeys, 1, InOctets>(block_scores, place.block_row + place.row(0, 0),
                                            first_key + lane_key);
    }
    PFragment<kMTiles, kNTiles> p;
    online_softmax<kRescale>(p, state, block_scores, n_block == 0);
    pipeline.advance(n_block, stage);
    multiply_pv(state, p, fragment.in_stage(stage * Pipeline::kStageBytes));
    stage = stage + 1 == STAGES ? 0 : stage + 1;
  }
  cp_async_wait<0>();
  __syncthreads();  // every warp is done with V, whose place the finished rows take
  store_o<BLOCK_M, 1, kThreads>(out + OutTensor::head(place.head), shared, shared, state, place);
}
