// fa_mma.cu - attention forward on mma.sync tensor cores: tiles by cp.async, operands by ldmatrix,
// softmax online.
//
// One block owns BLOCK_M query rows of one head, or of the heads that share a key/value head
// (PACK_GQA), and walks over the keys in tiles of BLOCK_N. Its warps form KV_GROUPS groups; a
// group's warps divide the rows among them, and each group takes its own share of the keys of every
// tile. Formulas and layouts are derived in notes.md.
#include "common/launch.cuh"
#include "common/mma_epilogue.cuh"
#include "common/mma_products.cuh"
#include "common/mma_softmax.cuh"
#include "common/packed_rows.cuh"
#include "common/swizzled_tile.cuh"

constexpr int kThreads = NUM_WARPS * 32;
constexpr int kRowWarps = NUM_WARPS / KV_GROUPS;     // warps that divide the rows
constexpr int kMTiles = BLOCK_M / (16 * kRowWarps);  // 16-row tiles of a warp
constexpr int kWarpKeys = BLOCK_N / KV_GROUPS;       // keys of a tile that one warp sees
constexpr int kNTiles = kWarpKeys / 8;               // 8-key tiles of its scores
constexpr int kQBytes = BLOCK_M * kRowBytes;
constexpr int kTileBytes = BLOCK_N * kRowBytes;  // one stage of K or of V
constexpr int kKRing = kQBytes;  // shared memory: Q, STAGES tiles of K, as many of V
constexpr int kVRing = kKRing + STAGES * kTileBytes;
constexpr int kPack = PACK_GQA ? kHeadGroup : 1;  // query heads whose rows a block packs together
using Rows = PackedRows<kPack>;
constexpr int kQueryTiles = ceil_div(Rows::kRows, BLOCK_M);
constexpr bool kRaggedKeys = SEQ_KV % BLOCK_N != 0;
constexpr bool kRaggedRows = Rows::kRows % BLOCK_M != 0;
constexpr Rescale kRescale = RESCALE == RESCALE_ALWAYS ? Rescale::kAlways
                             : RESCALE == RESCALE_LAZY ? Rescale::kLazy
                                                       : Rescale::kLate;
constexpr bool kAnyMask = CAUSAL != 0 || kRaggedKeys;
constexpr int kHeldQ = Q_IN_REGS ? HEAD_DIM / 4 : 0;
/// Output, scores and held Q take most of a thread's registers.
constexpr bool kFewRegisters = kMTiles * (HEAD_DIM / 2 + kWarpKeys / 2 + kHeldQ) > 160;

static_assert(kMTiles * 16 * kRowWarps == BLOCK_M, "every warp owns whole 16-row tiles");
static_assert(kWarpKeys * KV_GROUPS == BLOCK_N && kWarpKeys % 16 == 0,
              "16 keys are one mma step of P V");

using BlockCopier = Copier<kThreads>;
using WarpState = State<kMTiles, kDTiles>;
using WarpScores = Scores<kMTiles, kNTiles>;
using WarpWeights = Weights<kMTiles, kNTiles>;

/// What a warp's products read: its rows of Q, its share of the keys in the rings of K and V.
struct Operands {
  QueryRows<kMTiles, Q_IN_REGS> q;
  Fragments first_k, first_v;  // in slot 0

  DEVICE Fragments k(int slot) const { return first_k.in_slot(slot * kTileBytes); }
  DEVICE Fragments v(int slot) const { return first_v.in_slot(slot * kTileBytes); }
};

/// Which keys this block visits, in tiles: the first `open` need no mask, the rest up to `count`
/// do.
struct Visits {
  int count;
  int open;
};

DEVICE Visits visits_of(int first_row) {
  const int last_row = min(first_row + BLOCK_M, Rows::kRows) - 1;
  return {ceil_div(visible_keys(Rows::position(last_row)), BLOCK_N),
          visible_keys(Rows::position(first_row)) / BLOCK_N};
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
  const int tile = block / Rows::kHeads;
  const int head = block % Rows::kHeads;
#endif
  const int block_row = (CAUSAL != 0 ? kQueryTiles - 1 - tile : tile) * BLOCK_M;
  const int warp = thread / 32;
  return {thread % 32, warp / kRowWarps, warp % kRowWarps * 16 * kMTiles, block_row, head};
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
    i64 from = offset;
    // Else the compiler holds one address for K and one for V all the time.
    if (kFewRegisters) asm volatile("" : "+l"(from));
    const elem* source = tensor + (from + i64{first_key} * HEAD_DIM);
    asm("" : "+l"(source));  // one address, kept; else it sums anew for every copy
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
  multiply_qk(scores, operands.q, operands.k(slot));
  pipeline.between(visit, slot);
  WarpWeights weights;
  soften<kRescale, false>(weights, state, scores, visit == 0);
  multiply_pv(state, weights, operands.v(slot));
  pipeline.after(visit);
}

/// One visit to a tile that hides keys from some rows; a warp whose rows see none of its keys only
/// keeps the others company at the barriers.
DEVICE void visit_masked(WarpState& state, const Pipeline& pipeline, const Operands& operands,
                         int visit, int slot) {
  const Place place = place_of_thread();
  const int key = pipeline.tile_of(visit) * BLOCK_N + place.group * kWarpKeys;
  const int row = place.block_row + place.first_row;
  if (key < visible_keys(Rows::position(row + 16 * kMTiles - 1))) {
    WarpScores scores;
    multiply_qk(scores, operands.q, operands.k(slot));
    pipeline.between(visit, slot);
    mask_scores<kRaggedKeys, kPack>(scores, row + place.lane / 4, key + place.lane % 4 * 2);
    WarpWeights weights;
    soften<kRescale, true>(weights, state, scores, visit == 0);
    multiply_pv(state, weights, operands.v(slot));
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
  const int keys = place.group * kWarpKeys * kRowBytes;
  const u32 rows = shared + place.first_row * kRowBytes;
  return {QueryRows<kMTiles, Q_IN_REGS>(row_fragments(rows, place.lane)),
          key_fragments(shared + kKRing + keys, place.lane),
          row_fragments(shared + kVRing + keys, place.lane)};
}

DEVICE void load_queries(const BlockCopier& copier, const elem* q, const Place& place) {
  const elem* const head = q + Rows::first_place(place.head) * HEAD_DIM;
  const int rows_left = Rows::kRows - place.block_row;
  if constexpr (kPack == 1) {
    const i64 first = Rows::place(place.block_row) * HEAD_DIM + copier.from;
    copier.copy<BLOCK_M, kRaggedRows>(0, head + first, rows_left);
  } else {
    copier.gather<BLOCK_M, kRaggedRows>(
        0, head, rows_left, [&](int row) { return Rows::place(place.block_row + row); });
  }
}

extern "C" __global__ void __launch_bounds__(kThreads, MIN_CTAS)
    fa_mma(const elem* __restrict__ q, const elem* __restrict__ k, const elem* __restrict__ v,
           elem* __restrict__ out, float* __restrict__ lse) {
  extern __shared__ __align__(128) u8 shared[];
  const u32 base = shared_address(shared);
  const Place place = place_of_thread();
  const Visits visits = visits_of(place.block_row);

  const BlockCopier copier(base);
  wait_for_work_in_front();
  let_work_behind_begin();
  load_queries(copier, q, place);
  const i64 kv_offset = Rows::kv_head(place.head) * (i64{SEQ_KV} * HEAD_DIM) + copier.from;
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
  u8* const spare = shared + kQBytes;
  finish<BLOCK_M, KV_GROUPS, kThreads, kPack>(out + Rows::first_place(end.head) * HEAD_DIM, shared,
                                              spare, state, end);
#if LSE
  store_lse<BLOCK_M, KV_GROUPS, kPack>(lse + Rows::first_place(end.head), spare, state, end);
#endif
}
