// hybrid_qkt.cu - softmax and product with V, fused on mma.sync tensor cores, over rows of scores
// that a library's Q K^T left in memory.
//
// One block owns BLOCK_M query rows of one head and walks over the keys in tiles of BLOCK_N. Scores
// go from device memory straight to the registers that hold accumulators elsewhere; V goes through
// shared memory, its keys in the order of octets.cuh. notes.md has the layouts.
#include "common/mma.cuh"
#include "common/mma_epilogue.cuh"
#include "common/mma_softmax.cuh"
#include "common/octets.cuh"
#include "common/score_rows.cuh"
#include "common/swizzled_tile.cuh"

constexpr int kThreads = NUM_WARPS * 32;
constexpr int kMTiles = BLOCK_M / (16 * NUM_WARPS);  // 16-row tiles of a warp
constexpr int kNTiles = BLOCK_N / 8;
constexpr int kSpans = BLOCK_N / 32;  // a lane has one octet of each, in every row
constexpr int kDTiles = HEAD_DIM / 8;
constexpr int kTileBytes = BLOCK_N * kRowBytes;
constexpr int kQueryTiles = ceil_div(SEQ_Q, BLOCK_M);
constexpr bool kRaggedKeys = SEQ_KV % BLOCK_N != 0;
constexpr bool kRaggedOctets = kKeyPitch % BLOCK_N != 0;
constexpr bool kLazy = RESCALE == RESCALE_LAZY;
constexpr bool kAnyMask = CAUSAL != 0 || kRaggedKeys;
constexpr bool kWide = SCORE_TYPE == SCORE_TYPE_F32;
static_assert(kMTiles * 16 * NUM_WARPS == BLOCK_M, "every warp owns whole 16-row tiles");
static_assert(kSpans * 32 == BLOCK_N, "whole octets");

using score = ScoreType<kWide>::type;
using WarpState = State<kMTiles, kDTiles>;
using WarpScores = Scores<kMTiles, kNTiles>;

/// A lane's scores of one tile as they came from memory.
struct Raw {
  ScoreType<kWide>::Octet at[kMTiles][2][kSpans];
};

DEVICE Place place_of_thread() {
  const int tile = static_cast<int>(blockIdx.x) % kQueryTiles;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  Place place;
  place.lane = static_cast<int>(threadIdx.x) % 32;
  place.group = 0;
  place.first_row = warp * 16 * kMTiles;
  // Causal: long query tiles first, so that short ones fill the gaps at the end.
  place.block_row = (CAUSAL != 0 ? kQueryTiles - 1 - tile : tile) * BLOCK_M;
  place.head = static_cast<int>(blockIdx.x) / kQueryTiles;
  return place;
}

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

/// out += P V, the weights P rounded to DTYPE as they become the left operand.
DEVICE void multiply_pv(WarpState& state, const WarpScores& weights, const Fragments& v) {
#pragma unroll
  for (int step = 0; step < BLOCK_N / 16; ++step) {
    u32 left[kMTiles][4];
#pragma unroll
    for (int m = 0; m < kMTiles; ++m) pack_weights(left[m], weights, m, step);
#pragma unroll
    for (int d = 0; d < HEAD_DIM / 16; ++d) {
      u32 right[4];
      ldmatrix_x4_trans(right, v.at(16 * step, d));
#pragma unroll
      for (int m = 0; m < kMTiles; ++m) {
        mma_16x8x16(state.out[m][2 * d], left[m], right[0], right[1]);
        mma_16x8x16(state.out[m][2 * d + 1], left[m], right[2], right[3]);
      }
    }
  }
}

/// V of one head on its way through shared memory; tile i uses slot i % STAGES.
struct Pipeline {
  OctetCopier<kThreads> copier;
  const elem* v;  // the head's first key, plus copier.from
  int count;

  /// Every call closes a group of copies, an empty one past the last tile.
  DEVICE void load(int tile, int slot) const {
    if (tile < count) {
      const int first_key = tile * BLOCK_N;
      copier.copy<BLOCK_N, kRaggedKeys>(slot * kTileBytes, v + i64{first_key} * HEAD_DIM,
                                        SEQ_KV - first_key);
    }
    cp_async_commit();
  }
  DEVICE void start() const {
#pragma unroll
    for (int tile = 0; tile < STAGES - 1; ++tile) load(tile, tile);
  }
  /// Tile `tile` is here, and the slot of the tile before is free for one STAGES - 1 ahead.
  DEVICE void advance(int tile, int slot) const {
    cp_async_wait<STAGES - 2>();
    __syncthreads();
    load(tile + STAGES - 1, slot == 0 ? STAGES - 1 : slot - 1);
  }
};

extern "C" __global__ void __launch_bounds__(kThreads, 1)
    hybrid_qkt(const score* __restrict__ scores, const elem* __restrict__ v,
               elem* __restrict__ out) {
  extern __shared__ __align__(128) u8 shared[];
  const u32 base = shared_address(shared);
  const Place place = place_of_thread();
  const int last_row = min(place.block_row + BLOCK_M, SEQ_Q) - 1;
  const int count = ceil_div(visible_keys(last_row), BLOCK_N);
  const int open = visible_keys(place.block_row) / BLOCK_N;  // the first tiles need no mask

  const OctetCopier<kThreads> copier(base);
  const Pipeline pipeline{copier, v + (key_offset(place.head) + copier.from), count};
  pipeline.start();
  const ScoreRows rows(scores, place);
  const Fragments fragment = fragments(base, place.lane % 16, place.lane / 16);
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
      mask_octets<kRaggedKeys>(tile_scores, place.block_row + place.row(0, 0),
                               first_key + lane_key);
    }
    raise_peaks<kAnyMask, kLazy>(state, tile_scores);
    weigh<kAnyMask>(state, tile_scores);
    pipeline.advance(tile, slot);
    multiply_pv(state, tile_scores, fragment.in_slot(slot * kTileBytes));
    slot = slot + 1 == STAGES ? 0 : slot + 1;
  }
  cp_async_wait<0>();
  __syncthreads();  // every warp is done with V, whose place the finished rows take
  elem* const target =
      out + (query_offset(place.head) + static_cast<i64>(place.block_row) * HEAD_DIM);
  finish<BLOCK_M, 1, kThreads>(target, shared, shared, state, place);
}
