// fa_wgmma.cu - attention forward on Hopper's warpgroup tensor cores: tiles by tensor copies,
// weights in registers, softmax online.
//
// One block owns BLOCK_M query rows of one head, 64 to a warpgroup, and walks over the keys in
// tiles of BLOCK_N. KEY_PARTS warpgroups share each 64 rows: part p visits the tiles p, p +
// KEY_PARTS, ... and the parts join at the end. K and V pass through rings of STAGES tiles, or lie
// in shared memory as a whole. Formulas and layouts are derived in notes.md.
#include "common/mma_softmax.cuh"
#include "common/tma.cuh"
#include "common/wgmma.cuh"
#include "common/wgmma_epilogue.cuh"

constexpr int kRowBlocks = BLOCK_M / 64;
constexpr int kConsumers = kRowBlocks * KEY_PARTS;  // warpgroups that compute
constexpr int kConsumerThreads = 128 * kConsumers;
constexpr int kLoaderThreads = LOADER == LOADER_SELF ? 0 : LOADER == LOADER_WARP ? 32 : 128;
constexpr int kThreads = kConsumerThreads + kLoaderThreads;
constexpr int kTiles = ceil_div(SEQ_KV, BLOCK_N);
constexpr int kStages = min_of(STAGES, kTiles);
constexpr bool kResident = kStages == kTiles;  // every tile has a slot of its own, used once
constexpr int kQueryTiles = ceil_div(SEQ_Q, BLOCK_M);
constexpr int kDTiles = HEAD_DIM / 8;   // 8-column tiles of the output
constexpr int kDSteps = HEAD_DIM / 16;  // products over the head dimension
constexpr int kNTiles = BLOCK_N / 8;    // 8-key tiles of the scores
constexpr bool kOverlap = OVERLAP != OVERLAP_NONE;
constexpr bool kLazy = RESCALE == RESCALE_LAZY;
constexpr bool kRaggedKeys = SEQ_KV % BLOCK_N != 0;
constexpr bool kAnyMask = CAUSAL != 0 || kRaggedKeys;
// A row may meet a tile none of whose keys it sees before it has seen any.
constexpr bool kUnseen =
    CAUSAL != 0 && (KV_ORDER == KV_ORDER_BACKWARD || KEY_PARTS > 1 || SEQ_Q > SEQ_KV);
// Tiles of K that are asked for before the first of V: those that are used before it.
constexpr int kLead = min_of(kStages, kOverlap ? 2 * KEY_PARTS : KEY_PARTS);
constexpr int kLaunchRegisters = 65536 / (MIN_CTAS * kThreads) / 8 * 8;
constexpr int kLoaderRegisters = 24;
constexpr int kConsumerRegisters =
    (kLaunchRegisters * (kConsumers + 1) - kLoaderRegisters) / kConsumers / 8 * 8;
constexpr bool kMoveRegisters = LOADER == LOADER_WARPGROUP && kLaunchRegisters < 256;

static_assert(kResident || STAGES % KEY_PARTS == 0, "a ring slot serves one part");
static_assert(BLOCK_M % 64 == 0 && BLOCK_N % 16 == 0, "shapes of a product");
static_assert(HEAD_DIM % 32 == 0 && HEAD_DIM >= 64,
              "columns come in boxes of 64, half one the last");
static_assert(KEY_PARTS <= kStages, "each part has a slot of the rings at any time");
static_assert(!PINGPONG || (kRowBlocks > 1 && KEY_PARTS == 1), "turns are taken by different rows");
static_assert(LOADER != LOADER_SELF || kResident, "a warpgroup that computes cannot refill slots");

WGMMA_DEFINE_SHARED(multiply_qk, BLOCK_N)
WGMMA_DEFINE_REGISTERS(multiply_pv, HEAD_DIM)

/// Shared memory: Q, the rings of K and V, barriers. Addresses.
struct Memory {
  static constexpr int kBoxes = ceil_div(HEAD_DIM, 64);
  static constexpr int kQBytes = kBoxes * BLOCK_M * 128;
  static constexpr int kTileBytes = kBoxes * BLOCK_N * 128;
  static constexpr int kJoin = KEY_PARTS == 1 ? 0
                                              : Exchange<BLOCK_M, KEY_PARTS>::kPiecesBytes +
                                                    Exchange<BLOCK_M, KEY_PARTS>::kStatsBytes;
  static constexpr int kBarriers = kQBytes + max_of(2 * kStages * kTileBytes, kJoin);
  u32 base;

  DEVICE u32 q() const { return base; }
  DEVICE u32 k(int slot) const { return base + kQBytes + slot * kTileBytes; }
  DEVICE u32 v(int slot) const { return k(kStages + slot); }
  DEVICE u32 barrier(int index) const { return base + kBarriers + 8 * index; }
  DEVICE u32 q_here() const { return barrier(0); }
  DEVICE u32 k_here(int slot) const { return barrier(1 + slot); }
  DEVICE u32 v_here(int slot) const { return barrier(1 + kStages + slot); }
  DEVICE u32 k_free(int slot) const { return barrier(1 + 2 * kStages + slot); }
  DEVICE u32 v_free(int slot) const { return barrier(1 + 3 * kStages + slot); }
};

/// What a block works on.
struct Block {
  int row;    // the first of its query rows, within the head
  int head;   // counted over the batch
  int count;  // tiles of keys that its rows see
};

/// Causal: long query tiles first, so that short ones fill the gaps at the end.
DEVICE Block this_block() {
  const int block = static_cast<int>(blockIdx.x);
#if GRID_ORDER == GRID_ORDER_QUERY
  const int tile = block % kQueryTiles;
  const int head = block / kQueryTiles;
#else
  const int tile = block / (BATCH * HEADS);
  const int head = block % (BATCH * HEADS);
#endif
  const int row = (CAUSAL != 0 ? kQueryTiles - 1 - tile : tile) * BLOCK_M;
  const int last_row = min(row + BLOCK_M, SEQ_Q) - 1;
  return {row, head, ceil_div(visible_keys(last_row), BLOCK_N)};
}

/// The tile of keys of the block's visit.
DEVICE int tile_of(int visit, int count) {
  return KV_ORDER == KV_ORDER_FORWARD ? visit : count - 1 - visit;
}

/// Brings tiles of K and V; visit i uses slot i % kStages of both rings.
struct Loader {
  Memory memory;
  const TensorMap& map_k;
  const TensorMap& map_v;
  Block block;

  DEVICE void load(const TensorMap& map, u32 to, u32 here, int visit) const {
    const int kv_head = block.head % HEADS / kHeadGroup;
    const BoxStart from{0, tile_of(visit, block.count) * BLOCK_N, kv_head, block.head / HEADS};
    tensor_copy_tile<BLOCK_N, HEAD_DIM>(to, map, from, here);
  }
  DEVICE void load_k(int visit) const {
    if (visit >= block.count) return;
    const int slot = visit % kStages;
    if (visit >= kStages) mbarrier_wait(memory.k_free(slot), (visit / kStages + 1) % 2);
    load(map_k, memory.k(slot), memory.k_here(slot), visit);
  }
  DEVICE void load_v(int visit) const {
    const int slot = visit % kStages;
    if (visit >= kStages) mbarrier_wait(memory.v_free(slot), (visit / kStages + 1) % 2);
    load(map_v, memory.v(slot), memory.v_here(slot), visit);
  }

  /// By one thread: the first copies are on their way as soon as their two barriers exist.
  DEVICE void open(const TensorMap& map_q) const {
    mbarrier_init(memory.q_here(), 1);
    mbarrier_init(memory.k_here(0), 1);
    mbarrier_init_fence();
    if (block.count == 0) return;
    const BoxStart from{0, block.row, block.head % HEADS, block.head / HEADS};
    tensor_copy_tile<BLOCK_M, HEAD_DIM>(memory.q(), map_q, from, memory.q_here());
    load_k(0);
  }

  /// By a thread of another warp meanwhile: all other barriers.
  DEVICE void prepare() const {
#pragma unroll
    for (int slot = 0; slot < kStages; ++slot) {
      if (slot > 0) mbarrier_init(memory.k_here(slot), 1);
      mbarrier_init(memory.v_here(slot), 1);
      if (!kResident) mbarrier_init(memory.k_free(slot), 4 * kRowBlocks);
      if (!kResident) mbarrier_init(memory.v_free(slot), 4 * kRowBlocks);
    }
    mbarrier_init_fence();
  }

  /// By one thread: all that `open` did not bring.
  DEVICE void load_rest() const {
#pragma unroll
    for (int visit = 1; visit < kLead; ++visit) load_k(visit);
#pragma unroll 1
    for (int visit = 0; visit < block.count; ++visit) {
      load_v(visit);
      load_k(visit + kLead);
    }
  }
};

/// Where a part stands in its visits.
struct Cursor {
  int visit;  // counted over the block's
  int slot;
  u32 parity;  // of the slot's barriers

  DEVICE Cursor next() const {
    Cursor after{visit + KEY_PARTS, slot + KEY_PARTS, parity};
    if (!kResident && after.slot >= kStages) {
      after.slot -= kStages;
      after.parity ^= 1;
    }
    return after;
  }
};

/// One warpgroup's share of a block's work: 64 rows, the tiles of one part.
struct Worker {
  Memory memory;
  Block block;
  Place place;
  int row_block;
  int visits;
  u64 q;
  State<1, kDTiles> state;
  Scores<1, kNTiles> scores;
  u32 weights[BLOCK_N / 4];
  float shrink[2];

  DEVICE Worker(Memory memory_, const Block& block_, int warpgroup)
      : memory(memory_), block(block_), row_block(warpgroup % kRowBlocks) {
    const int thread = static_cast<int>(threadIdx.x);
    const int part = warpgroup / kRowBlocks;
    place = {thread % 32, part, row_block * 64 + thread % 128 / 32 * 16, block.row, block.head};
    const bool even = CAUSAL == 0 && kTiles % KEY_PARTS == 0;
    visits = even ? kTiles / KEY_PARTS : ceil_div(block.count - part, KEY_PARTS);
#if !UNROLL
    // A loop is wanted, of two visits too: laid out, ptxas mixes visits and spills.
    asm("" : "+r"(visits));
#endif
    q = row_operand(memory.q() + row_block * 64 * 128);
  }

  /// PINGPONG: the row blocks issue their products in turn.
  DEVICE int turn_of(int row) const { return 1 + row % kRowBlocks; }
  DEVICE void start_turns() const {
    if (PINGPONG && row_block == kRowBlocks - 1 && visits > 0) named_arrive<256>(turn_of(0));
  }
  DEVICE void take_turn() const {
    if (PINGPONG) named_sync<256>(turn_of(row_block));
  }
  DEVICE void pass_turn(bool last) const {
    if (!PINGPONG || (last && row_block == kRowBlocks - 1)) return;
    named_arrive<256>(turn_of(row_block + 1));
  }

  DEVICE float* score_sums() { return &scores.at[0][0][0]; }
  DEVICE float* out_sums() { return &state.out[0][0][0]; }

  DEVICE void issue_qk(const Cursor& at) {
    const u64 k = row_operand(memory.k(at.slot));
#pragma unroll
    for (int step = 0; step < kDSteps; ++step) {
      const u64 column = step % 4 * kColumnStep;
      multiply_qk(score_sums(), q + step / 4 * (BLOCK_M * 8) + column,
                  k + step / 4 * (BLOCK_N * 8) + column, step > 0);
    }
    wgmma_commit();
  }

  DEVICE void issue_pv(const Cursor& at) {
    const u64 v = column_operand(memory.v(at.slot), BLOCK_N * 128);
#pragma unroll
    for (int step = 0; step < BLOCK_N / 16; ++step) {
      multiply_pv(out_sums(), weights + 4 * step, v + step * kRowStep);
    }
    wgmma_commit();
  }

  DEVICE void release(u32 barrier) const {
    if (!kResident && place.lane == 0) mbarrier_arrive(barrier);
  }

  /// Scores become weights, still in f32. True when the output must be multiplied by `shrink`.
  DEVICE bool soften(const Cursor& at) {
    const int key = tile_of(at.visit, block.count) * BLOCK_N;
    if (kAnyMask && key + BLOCK_N > visible_keys(block.row + 64 * row_block)) {
      mask_scores<kRaggedKeys>(scores, block.row + place.row(0, 0), key + place.lane % 4 * 2);
    }
    const bool rises = raise_peak();
    weigh<kUnseen>(state, scores);
    return rises;
  }

  DEVICE bool raise_peak() {
    float highest[2];
    bool rises = !kLazy;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      highest[half] = highest_score(scores, 0, half);
      rises = rises || highest[half] > state.peak[0][half] + kLazyRise;
    }
    if (kLazy && !__any_sync(0xffffffffu, rises)) return false;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float peak = fmaxf(state.peak[0][half], highest[half]);
      const float finite = kUnseen && peak == NEG_INF ? 0.0f : peak;
      shrink[half] = fast_exp2((state.peak[0][half] - finite) * kScale);
      state.peak[0][half] = peak;
      state.sum[0][half] *= shrink[half];
    }
    return true;
  }

  /// A branch that is never taken, which the compiler cannot know: a wait behind it stays behind
  /// the exponentials. (A trap instead makes ptxas 13.0 serialise the products or ignore
  /// setmaxnreg.)
  DEVICE void hold() const {
    const bool impossible = state.sum[0][0] + state.sum[0][1] < 0.0f;
    if (__any_sync(0xffffffffu, impossible)) asm volatile("nanosleep.u32 20;");
  }

  DEVICE void shrink_out() {
#pragma unroll
    for (int d = 0; d < kDTiles; ++d) {
#pragma unroll
      for (int i = 0; i < 4; ++i) state.out[0][d][i] *= shrink[i / 2];
    }
  }

  /// Weights, rounded, as left operands; and everything that the next products read is in place.
  DEVICE void pack() {
#pragma unroll
    for (int step = 0; step < BLOCK_N / 16; ++step) {
      u32 left[4];
      pack_weights(left, scores, 0, step);
#pragma unroll
      for (int i = 0; i < 4; ++i) weights[4 * step + i] = left[i];
    }
    pin<BLOCK_N / 4>(weights);
    pin<HEAD_DIM / 2>(out_sums());
  }

  /// The scores of a tile, alone at the tensor cores.
  DEVICE void score(const Cursor& at, bool last) {
    mbarrier_wait(memory.k_here(at.slot), at.parity);
    take_turn();
    wgmma_fence();
    issue_qk(at);
    pass_turn(last);
    wgmma_wait<0>();
    pin<BLOCK_N / 2>(score_sums());
    release(memory.k_free(at.slot));
  }

  /// Adds the weighted values of a tile, alone at the tensor cores.
  DEVICE void gather(const Cursor& at) {
    mbarrier_wait(memory.v_here(at.slot), at.parity);
    wgmma_fence();
    issue_pv(at);
    wgmma_wait<0>();
    pin<HEAD_DIM / 2>(out_sums());
    release(memory.v_free(at.slot));
  }

  /// The scores of a tile and, while its softmax is computed, the weighted values of the one
  /// before.
  DEVICE void score_and_gather(const Cursor& at, const Cursor& before, bool last) {
    mbarrier_wait(memory.k_here(at.slot), at.parity);
    take_turn();
    wgmma_fence();
    issue_qk(at);
    mbarrier_wait(memory.v_here(before.slot), before.parity);
    wgmma_fence();
    issue_pv(before);
    pass_turn(last);
    wgmma_wait<1>();
    pin<BLOCK_N / 2>(score_sums());
    release(memory.k_free(at.slot));
    const bool rises = soften(at);
    if (OVERLAP == OVERLAP_HELD) hold();
    wgmma_wait<0>();
    pin<BLOCK_N / 4>(weights);
    pin<HEAD_DIM / 2>(out_sums());
    release(memory.v_free(before.slot));
    if (rises) shrink_out();
    pack();
  }

  DEVICE void attend() {
    if (visits <= 0) return;
    start_turns();
    Cursor at{place.group, place.group, 0};
    mbarrier_wait(memory.q_here(), 0);
    score(at, visits == 1);
    soften(at);
    pack();
#pragma unroll(UNROLL ? kTiles : 1)
    for (int visit = 1; kTiles > KEY_PARTS && visit < visits; ++visit) {
      const Cursor before = at;
      at = at.next();
      if (kOverlap) {
        score_and_gather(at, before, visit + 1 == visits);
      } else {
        gather(before);
        score(at, visit + 1 == visits);
        if (soften(at)) shrink_out();
        pack();
      }
    }
    gather(at);
  }
};

extern "C" __global__ void __launch_bounds__(kThreads, MIN_CTAS)
    fa_wgmma(elem* __restrict__ out, const __grid_constant__ TensorMap map_q,
             const __grid_constant__ TensorMap map_k, const __grid_constant__ TensorMap map_v) {
  extern __shared__ __align__(1024) u8 shared[];
  const Memory memory{shared_address(shared)};
  const Block block = this_block();
  const Loader loader{memory, map_k, map_v, block};
  const int thread = static_cast<int>(threadIdx.x);
  const int warpgroup = __shfl_sync(0xffffffffu, thread / 128, 0);
  if (thread == (LOADER == LOADER_SELF ? 0 : kConsumerThreads)) loader.open(map_q);
  if (thread == 32) loader.prepare();
  __syncthreads();
  if (LOADER != LOADER_SELF && warpgroup == kConsumers) {
    if constexpr (kMoveRegisters) give_registers<kLoaderRegisters>();
    if (thread == kConsumerThreads) loader.load_rest();
  } else {
    if constexpr (kMoveRegisters) take_registers<kConsumerRegisters>();
    // The last warpgroup brings the rest itself and so falls behind the first: they alternate.
    if (LOADER == LOADER_SELF && thread == kConsumerThreads - 128) loader.load_rest();
    __syncwarp();
    Worker worker(memory, block, warpgroup);
    worker.attend();
    finish_boxed<BLOCK_M, KEY_PARTS>(out + query_offset(block.head) + block.row * i64{HEAD_DIM},
                                     shared, shared + Memory::kQBytes, worker.state, worker.place,
                                     8);
  }
}
