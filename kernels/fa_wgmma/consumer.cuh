// worker.cuh - one warpgroup's share of an item: 64 rows against the tiles of one part, from scores
// to output sums.
#pragma once

#include "common/mma_softmax.cuh"
#include "common/tma.cuh"
#include "common/wgmma.cuh"
#include "fa_wgmma/exp2.cuh"
#include "fa_wgmma/memory.cuh"
#include "fa_wgmma/work.cuh"

WGMMA_DEFINE_SCORES(multiply_qk, multiply_qk_first, BLOCK_N)
WGMMA_DEFINE_VALUES(multiply_pv, HEAD_DIM)
WGMMA_DEFINE_VALUES_SHARED(multiply_pv_shared, HEAD_DIM)
WGMMA_DEFINE_VALUES(multiply_pv_and_ones, 72)

using Tile = Scores<1, kNTiles>;
DEVICE float* sums_of(Tile& tile) { return &tile.at[0][0][0]; }

/// Where a part stands in its visits of an item, and in the rings.
struct Cursor {
  int visit;
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

struct Worker {
  Memory memory;
  int warpgroup;
  int row_block;  // which 64 rows of the block's
  int part;       // which share of the block's tiles
  int lane;
  int warp_row;  // the first of the warp's 16 rows, within the block
  Item item;
  int left;   // visits to come
  Cursor at;  // the visit under way
  State<1, kOutTiles> state;
  Tile scores;
  u32 weights[BLOCK_N / 4];
  float shrink[2];

  DEVICE Worker(Memory memory_, int warpgroup_)
      : memory(memory_),
        warpgroup(warpgroup_),
        row_block(warpgroup_ % kRowBlocks),
        part(warpgroup_ / kRowBlocks),
        lane(static_cast<int>(threadIdx.x) % 32),
        warp_row(row_block * 64 + static_cast<int>(threadIdx.x) % 128 / 32 * 16),
        at{part, part, 0} {}

  /// Before the visits of an item, which is the block's first or not. True: there are any.
  DEVICE bool begin(const Item& item_, bool first, u32 q_parity) {
    item = item_;
    begin_sums();
    if (left <= 0) return false;
    start_turns();
    mbarrier_wait(memory.q_here(row_block), q_parity);
    if (first) fall_behind();
    return true;
  }

  /// All visits of an item; the last product with values is still under way when it returns.
  DEVICE void attend(const Item& item_, bool first, u32 q_parity) {
    if (!begin(item_, first, q_parity)) return;
    if constexpr (kOverlap) {
      attend_behind();
    } else {
      attend_singly();
    }
  }

  /// The same visits of resident tiles once more, one product at a time.
  DEVICE void attend_again() {
    begin_sums();
    at = {part, part, 0};
    attend_singly();
  }

  /// Position within its head of this lane's first row; the second is 8 further.
  DEVICE int position() const { return item.row + warp_row % kPositions + lane / 4; }

  DEVICE void wait_for_values() {
    wgmma_wait<0>();
    if (!kShared && !kWoven) pin<BLOCK_N / 4>(weights);
    pin<4 * kOutTiles>(out_sums());
  }

  /// The item's last visit is over: the next one's first is `next()` of the last in the rings.
  DEVICE void leave() {
    if (kPersistent && left > 0) {
      release_v(at);
      at = at.next();
      at.visit = part;
    }
  }

  // ---- what visits are made of ----

  DEVICE float* out_sums() { return &state.out[0][0][0]; }

  DEVICE void release_k(const Cursor& tile) const {
    if (!kResident && lane == 0) mbarrier_arrive(memory.k_free(tile.slot));
    if (kPersistent && tile.visit + KEY_PARTS >= item.visits && lane == 0) {
      mbarrier_arrive(memory.q_free());
    }
  }
  DEVICE void release_v(const Cursor& tile) const {
    if (!kResident && lane == 0) mbarrier_arrive(memory.v_free(tile.slot));
  }

  /// Hides the keys of the visit under way that a row may not see.
  DEVICE void mask(Tile& tile) const {
    const int key = first_key(item, at.visit);
    const int first_position = item.row + row_block * 64 % kPositions;
    if (kAnyMask && key + BLOCK_N > visible_keys(first_position)) {
      mask_scores<kRaggedKeys>(tile, position(), key + lane % 4 * 2);
    }
  }

  /// The scores of a tile, alone at the tensor cores.
  DEVICE void score(bool last) {
    mbarrier_wait(memory.k_here(at.slot), at.parity);
    take_turn();
    wgmma_fence();
    issue_qk();
    pass_turn(last);
    wgmma_wait<0>();
    pin<BLOCK_N / 2>(sums_of(scores));
    release_k(at);
    mask(scores);
  }

 private:
  DEVICE void begin_sums() {
    state = State<1, kOutTiles>();
    left = ceil_div(item.visits - part, KEY_PARTS);
    // A loop is wanted, of two visits too: laid out, ptxas mixes visits and spills.
    asm("" : "+r"(left));
  }

  /// Row blocks begin STAGGER clocks after one another, lest all compute weights while the tensor
  /// cores idle, and then the other way round.
  DEVICE void fall_behind() const {
    if (STAGGER == 0) return;
    const u32 begin = clock32();
    while (clock32() - begin < static_cast<u32>(row_block * STAGGER)) {
    }
  }

  // ---- PINGPONG: the row blocks issue their products in turn ----

  DEVICE static int turn_of(int row) { return 1 + row % kRowBlocks; }
  DEVICE void start_turns() const {
    if (PINGPONG && row_block == kRowBlocks - 1) named_arrive<256>(turn_of(0));
  }
  DEVICE void take_turn() const {
    if (PINGPONG) named_sync<256>(turn_of(row_block));
  }
  DEVICE void pass_turn(bool last) const {
    if (!PINGPONG || (last && row_block == kRowBlocks - 1)) return;
    named_arrive<256>(turn_of(row_block + 1));
  }

  // ---- products ----

  DEVICE void issue_qk() {
    const u64 q = row_operand(memory.q() + row_block * 64 * 128);
    const u64 k = row_operand(memory.k(at.slot));
    multiply_qk_first(sums_of(scores), q, k);
#pragma unroll
    for (int step = 1; step < kDSteps; ++step) {
      const u64 column = step % 4 * kColumnStep;
      multiply_qk(sums_of(scores), q + step / 4 * (BLOCK_M * 8) + column,
                  k + step / 4 * (BLOCK_N * 8) + column);
    }
    wgmma_commit();
  }

  DEVICE void issue_pv(const Cursor& tile) {
    const u64 v = column_operand(memory.v(tile.slot), BLOCK_N * 128);
#pragma unroll
    for (int step = 0; step < BLOCK_N / 16; ++step) {
      if (kShared) {
        const u64 left_operand = row_operand(memory.weights(warpgroup)) + step / 4 * (64 * 8);
        multiply_pv_shared(out_sums(), left_operand + step % 4 * kColumnStep, v + step * kRowStep);
      } else {
        multiply_pv(out_sums(), weights + 4 * step, v + step * kRowStep);
      }
    }
    wgmma_commit();
  }

  // ---- softmax ----

  /// Scores become weights, still in f32. True when the output must be multiplied by `shrink`.
  DEVICE bool soften() {
    const bool rises = raise_peak();
    weigh_mixed<kUnseen, PINGPONG != 0>(state, scores);
    return rises;
  }

  /// Whether no row of the warp rises by kLazyRise above its peak. Bits of positive floats are in
  /// the order of the floats, those of negative ones below them: while the limit is positive, whole
  /// numbers decide it, three an instruction.
  DEVICE bool stays_below() const {
    // Two chains a row: a lone warp would wait for the result of one before each step of it.
    int top[2][2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
#pragma unroll
      for (int n = 0; n < kNTiles; ++n) {
        const int left = __float_as_int(scores.at[0][n][2 * half]);
        const int right = __float_as_int(scores.at[0][n][2 * half + 1]);
        int& chain = top[half][n % 2];
        chain = n < 2 ? max(left, right) : max(max(chain, left), right);
      }
    }
    const float limit[2] = {state.peak[0][0] + kLazyRise, state.peak[0][1] + kLazyRise};
    const bool rises =
        fminf(limit[0], limit[1])<0.0f | max(top[0][0], top[0][1])> __float_as_int(limit[0]) |
        max(top[1][0], top[1][1]) > __float_as_int(limit[1]);
    return !__any_sync(0xffffffffu, rises);
  }

  DEVICE bool raise_peak() {
    if (kLazy && stays_below()) return false;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float peak = fmaxf(state.peak[0][half], highest_score(scores, 0, half));
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
    const int row = warp_row % 64 + lane % 16;
    const u32 mine = memory.weights(warpgroup) + row * 128 + ((lane / 16) ^ (row & 7)) * 16;
#pragma unroll
    for (int step = 0; step < BLOCK_N / 16; ++step) {
      u32 left_operand[4];
      pack_weights(left_operand, scores, 0, step);
      if (kShared) {
        stmatrix_x4((mine ^ (step % 4 * 32)) + step / 4 * (64 * 128), left_operand);
      } else {
#pragma unroll
        for (int i = 0; i < 4; ++i) weights[4 * step + i] = left_operand[i];
      }
    }
    if (kShared) {
      async_proxy_fence();
      __syncwarp();  // a warp's products read its own rows only
    } else {
      pin<BLOCK_N / 4>(weights);
    }
    pin<4 * kOutTiles>(out_sums());
  }

  // ---- visits ----

  DEVICE void start_gather() {
    mbarrier_wait(memory.v_here(at.slot), at.parity);
    wgmma_fence();
    issue_pv(at);
  }

  /// The scores of the next tile and, while its softmax is computed, the weighted values of this.
  DEVICE void score_and_gather(bool last) {
    const Cursor before = at;
    at = at.next();
    mbarrier_wait(memory.k_here(at.slot), at.parity);
    take_turn();
    wgmma_fence();
    issue_qk();
    mbarrier_wait(memory.v_here(before.slot), before.parity);
    wgmma_fence();
    issue_pv(before);
    pass_turn(last);
    wgmma_wait<1>();
    pin<BLOCK_N / 2>(sums_of(scores));
    release_k(at);
    mask(scores);
    const bool rises = soften();
    if (OVERLAP == OVERLAP_HELD) hold();
    wait_for_values();
    release_v(before);
    if (rises) shrink_out();
    pack();
  }

  /// One product at a time.
  DEVICE void attend_singly() {
#pragma unroll 1
    for (int visits = left;; --visits) {
      score(true);
      if (soften()) shrink_out();
      pack();
      start_gather();
      if (visits == 1) return;
      wait_for_values();
      release_v(at);
      at = at.next();
    }
  }

  /// The values of a tile with the scores of the next.
  DEVICE void attend_behind() {
    score(left == 1);
    soften();
    pack();
#pragma unroll 1
    for (int visits = left; visits > 1; --visits) score_and_gather(visits == 2);
    start_gather();
  }
};
