// fa_mma.cu - attention forward on mma.sync tensor cores: tiles by cp.async, operands by ldmatrix,
// softmax online.
//
// One block owns BLOCK_M query rows of one head and walks over the keys in tiles of BLOCK_N. Its
// warps form KV_GROUPS groups; a group's warps divide the rows among them, and each group takes its
// own share of the keys of every tile. Formulas and layouts are derived in notes.md.
#include "common/mma.cuh"
#include "common/mma_epilogue.cuh"
#include "common/mma_softmax.cuh"
#include "common/swizzled_tile.cuh"

constexpr int kThreads = NUM_WARPS * 32;
constexpr int kRowWarps = NUM_WARPS / KV_GROUPS;     // warps that divide the rows
constexpr int kMTiles = BLOCK_M / (16 * kRowWarps);  // 16-row tiles of a warp
constexpr int kDTiles = HEAD_DIM / 8;                // 8-column tiles of the output
constexpr int kDSteps = HEAD_DIM / 16;               // mma steps over the head dimension
constexpr int kWarpKeys = BLOCK_N / KV_GROUPS;       // keys of a tile that one warp sees
constexpr int kNTiles = kWarpKeys / 8;               // 8-key tiles of its scores
constexpr int kQBytes = BLOCK_M * kRowBytes;
constexpr int kTileBytes = BLOCK_N * kRowBytes;  // one stage of K or of V
constexpr int kKRing = kQBytes;  // shared memory: Q, STAGES tiles of K, as many of V
constexpr int kVRing = kKRing + STAGES * kTileBytes;
constexpr int kQueryTiles = ceil_div(SEQ_Q, BLOCK_M);
constexpr bool kRaggedKeys = SEQ_KV % BLOCK_N != 0;
constexpr bool kRaggedRows = SEQ_Q % BLOCK_M != 0;
constexpr bool kLazy = RESCALE == RESCALE_LAZY;
constexpr bool kAnyMask = CAUSAL != 0 || kRaggedKeys;

static_assert(kMTiles * 16 * kRowWarps == BLOCK_M, "every warp owns whole 16-row tiles");
static_assert(kWarpKeys * KV_GROUPS == BLOCK_N && kWarpKeys % 16 == 0,
              "16 keys are one mma step of P V");

using BlockCopier = Copier<kThreads>;
using WarpState = State<kMTiles, kDTiles>;
using WarpScores = Scores<kMTiles, kNTiles>;

/// What a warp's products read: its rows of Q, its share of the keys in slot 0 of the rings of K
/// and V.
struct Operands {
  Fragments q, k, v;
  u32 q_held[kMTiles][kDSteps][4];  // Q_IN_REGS
};

/// Which keys this block visits, in tiles: the first `open` need no mask, the rest up to `count`
/// do.
struct Visits {
  int count;
  int open;
};

DEVICE Visits visits_of(int first_row) {
  const int last_row = min(first_row + BLOCK_M, SEQ_Q) - 1;
  return {ceil_div(visible_keys(last_row), BLOCK_N), visible_keys(first_row) / BLOCK_N};
}

/// Where this thread works. Causal: long query tiles first, so that short ones fill the gaps at the
/// end. Reads the special registers anew at each call: asking again after the loop over the keys
/// costs less than holding the answer in registers during it.
DEVICE Place place_of_thread() {
  int thread;
  int block;
  asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
  asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(block));
#if GRID_ORDER == GRID_ORDER_QUERY
  const int tile = block % kQueryTiles;
  const int head = block / kQueryTiles;
#else
  const int tile = block / (BATCH * HEADS);
  const int head = block % (BATCH * HEADS);
#endif
  const int block_row = (CAUSAL != 0 ? kQueryTiles - 1 - tile : tile) * BLOCK_M;
  const int warp = thread / 32;
  return {thread % 32, warp / kRowWarps, warp % kRowWarps * 16 * kMTiles, block_row, head};
}

/// Of the block's rows, in q and out.
DEVICE i64 first_element(const Place& place) {
  return query_offset(place.head) + place.block_row * i64{HEAD_DIM};
}

/// scores = Q K^T of this warp's rows and keys.
DEVICE void multiply_qk(WarpScores& scores, const Operands& operands, int slot) {
  const Fragments k = operands.k.in_slot(slot * kTileBytes);
#pragma unroll
  for (int m = 0; m < kMTiles; ++m) {
#pragma unroll
    for (int n = 0; n < kNTiles; ++n) {
#pragma unroll
      for (int i = 0; i < 4; ++i) scores.at[m][n][i] = 0.0f;
    }
  }
#pragma unroll
  for (int step = 0; step < kDSteps; ++step) {
    u32 left[kMTiles][4];
#pragma unroll
    for (int m = 0; m < kMTiles; ++m) {
#if Q_IN_REGS
#pragma unroll
      for (int i = 0; i < 4; ++i) left[m][i] = operands.q_held[m][step][i];
#else
      ldmatrix_x4(left[m], operands.q.at(16 * m, step));
#endif
    }
#pragma unroll
    for (int n = 0; n < kNTiles; n += 2) {
      u32 right[4];
      ldmatrix_x4(right, k.at(8 * n, step));
#pragma unroll
      for (int m = 0; m < kMTiles; ++m) {
        mma_16x8x16(scores.at[m][n], left[m], right[0], right[1]);
        mma_16x8x16(scores.at[m][n + 1], left[m], right[2], right[3]);
      }
    }
  }
}

/// out += P V, the weights P rounded to DTYPE as they become the left operand.
DEVICE void multiply_pv(WarpState& state, const WarpScores& weights, const Operands& operands,
                        int slot) {
  const Fragments v = operands.v.in_slot(slot * kTileBytes);
#pragma unroll
  for (int step = 0; step < kWarpKeys / 16; ++step) {
    u32 left[kMTiles][4];
#pragma unroll
    for (int m = 0; m < kMTiles; ++m) pack_weights(left[m], weights, m, step);
#pragma unroll
    for (int d = 0; d < kDSteps; ++d) {
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

/// Keys and values of one head on their way through shared memory. Visit i uses slot i % STAGES of
/// both rings.
struct Pipeline {
  BlockCopier copier;
  const elem* k;
  const elem* v;
  i64 offset;  // of the head's first key, plus copier.from
  int count;

  DEVICE int tile_of(int visit) const {
    return KV_ORDER == KV_ORDER_FORWARD ? visit : count - 1 - visit;
  }

  DEVICE void load(const elem* tensor, int ring, int visit, int slot) const {
    if (visit >= count) return;
    const int first_key = tile_of(visit) * BLOCK_N;
    const elem* source = tensor + (offset + i64{first_key} * HEAD_DIM);
    asm("" : "+l"(source));  // one address, kept; else the compiler sums anew for every copy
    copier.copy<BLOCK_N, kRaggedKeys>(ring + slot * kTileBytes, source, SEQ_KV - first_key);
  }
  DEVICE void load_k(int visit, int slot) const { load(k, kKRing, visit, slot); }
  DEVICE void load_v(int visit, int slot) const { load(v, kVRing, visit, slot); }

  /// With one stage the groups are Q K0 | V0 | K1 | V1 ...; with more, Q K0 | V0 K1 | V1 K2 ...,
  /// STAGES of them ahead.
  DEVICE void start() const {
    load_k(0, 0);
    cp_async_commit();
#pragma unroll
    for (int ahead = 1; ahead < max_of(STAGES, 2); ++ahead) {
      load_v(ahead - 1, ahead - 1);
      if (STAGES > 1) load_k(ahead, ahead);
      cp_async_commit();
    }
    cp_async_wait<max_of(STAGES, 2) - 1>();
    __syncthreads();
  }

  /// Between the two products of a visit: V of this visit is here (and K of the next), K's slot is
  /// free again.
  DEVICE void between(int visit, int slot) const {
    cp_async_wait<max_of(STAGES, 2) - 2>();
    __syncthreads();
    if (STAGES > 1) load_v(visit - 1 + STAGES, slot == 0 ? STAGES - 1 : slot - 1);
    load_k(visit + STAGES, slot);
    cp_async_commit();
  }

  /// One stage only: V's slot is free again, K of the next visit is here.
  DEVICE void after(int visit) const {
    if (STAGES > 1) return;
    cp_async_wait<0>();
    __syncthreads();
    load_v(visit + 1, 0);
    cp_async_commit();
  }
};

/// One visit to a tile of keys that every row sees.
DEVICE void visit_open(WarpState& state, const Pipeline& pipeline, const Operands& operands,
                       int visit, int slot) {
  WarpScores scores;
  multiply_qk(scores, operands, slot);
  pipeline.between(visit, slot);
  raise_peaks<false, kLazy>(state, scores);
  weigh<false>(state, scores);
  multiply_pv(state, scores, operands, slot);
  pipeline.after(visit);
}

/// One visit to a tile that hides keys from some rows; a warp whose rows see none of its keys only
/// keeps the others company at the barriers.
DEVICE void visit_masked(WarpState& state, const Pipeline& pipeline, const Operands& operands,
                         int visit, int slot) {
  const Place place = place_of_thread();
  const int key = pipeline.tile_of(visit) * BLOCK_N + place.group * kWarpKeys;
  const int row = place.block_row + place.first_row;
  if (key < visible_keys(row + 16 * kMTiles - 1)) {
    WarpScores scores;
    multiply_qk(scores, operands, slot);
    pipeline.between(visit, slot);
    mask_scores<kRaggedKeys>(scores, row + place.lane / 4, key + place.lane % 4 * 2);
    raise_peaks<true, kLazy>(state, scores);
    weigh<true>(state, scores);
    multiply_pv(state, scores, operands, slot);
  } else {
    pipeline.between(visit, slot);
  }
  pipeline.after(visit);
}

template <bool kMasked>
DEVICE void visit_tiles(WarpState& state, const Pipeline& pipeline, const Operands& operands,
                        int from, int to, int& slot) {
#pragma unroll 1
  for (int visit = from; visit < to; ++visit) {
    if constexpr (kMasked) {
      visit_masked(state, pipeline, operands, visit, slot);
    } else {
      visit_open(state, pipeline, operands, visit, slot);
    }
    slot = slot + 1 == STAGES ? 0 : slot + 1;
  }
}

DEVICE Operands start_operands(u32 shared, const Place& place) {
  const int lane = place.lane;
  const int keys = place.group * kWarpKeys * kRowBytes;
  Operands operands;
  operands.q = fragments(shared + place.first_row * kRowBytes, lane % 16, lane / 16);
  operands.k = fragments(shared + kKRing + keys, lane % 8 + lane / 16 * 8, lane / 8 % 2);
  operands.v = fragments(shared + kVRing + keys, lane % 16, lane / 16);
#if Q_IN_REGS
#pragma unroll
  for (int m = 0; m < kMTiles; ++m) {
#pragma unroll
    for (int step = 0; step < kDSteps; ++step)
      ldmatrix_x4(operands.q_held[m][step], operands.q.at(16 * m, step));
  }
#endif
  return operands;
}

extern "C" __global__ void __launch_bounds__(kThreads, MIN_CTAS)
    fa_mma(const elem* __restrict__ q, const elem* __restrict__ k, const elem* __restrict__ v,
           elem* __restrict__ out) {
  extern __shared__ __align__(128) u8 shared[];
  const u32 base = shared_address(shared);
  const Place place = place_of_thread();
  const int kv_head = place.head / HEADS * KV_HEADS + place.head % HEADS / kHeadGroup;
  const Visits visits = visits_of(place.block_row);

  const BlockCopier copier(base);
  copier.copy<BLOCK_M, kRaggedRows>(0, q + (first_element(place) + copier.from),
                                    SEQ_Q - place.block_row);
  const i64 kv_offset = kv_head * (i64{SEQ_KV} * HEAD_DIM) + copier.from;
  const Pipeline pipeline{copier, k, v, kv_offset, visits.count};
  pipeline.start();

  const Operands operands = start_operands(base, place);
  WarpState state;
  int slot = 0;
#if KV_ORDER == KV_ORDER_FORWARD
  visit_tiles<false>(state, pipeline, operands, 0, visits.open, slot);
  if (kAnyMask) visit_tiles<true>(state, pipeline, operands, visits.open, visits.count, slot);
#else
  const int masked = visits.count - visits.open;
  if (kAnyMask) visit_tiles<true>(state, pipeline, operands, 0, masked, slot);
  visit_tiles<false>(state, pipeline, operands, masked, visits.count, slot);
#endif
  const Place end = place_of_thread();
  finish<BLOCK_M, KV_GROUPS, kThreads>(out + first_element(end), shared, shared + kQBytes, state,
                                       end);
}
