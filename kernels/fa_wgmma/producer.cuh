// producer.cuh: Loads Q and the KV blocks to shared memory by TMA, which signals full barriers by
// bytes, and waits for empty barriers.
#pragma once

#include "common/launch.cuh"
#include "common/tma.cuh"
#include "fa_wgmma/shared_storage.cuh"
#include "fa_wgmma/tile_scheduler.cuh"

/// Where a producer stands in the KV blocks of all of a CTA's work tiles. The n-th KV block since
/// the CTA began uses stage n % kStages.
struct ProducerState {
  int index;  // of the work tile
  int nth;    // of the CTA's work tiles
  WorkTile tile;
  int iteration;
  int count;  // KV blocks since the CTA began
#if LENGTHS
  const i32* lengths;
#endif

  DEVICE explicit ProducerState(int first LENGTHS_PARAMETER)
      : index(first), nth(0), tile(work_tile_at(first LENGTHS_ARGUMENT)), iteration(0), count(0) {
#if LENGTHS
    this->lengths = lengths;
#endif
    skip_finished();
  }
  DEVICE bool more() const { return has_work_tile(index); }
  DEVICE void advance() {
    ++iteration;
    ++count;
    skip_finished();
  }

 private:
  DEVICE void skip_finished() {
    while (iteration >= tile.cta_n_blocks) {
      index += kPersistent ? kCtas : kWorkTiles;
      if (!more()) return;
      ++nth;
      tile = work_tile_at(index LENGTHS_ARGUMENT);
      iteration = 0;
    }
  }
};

struct Producer {
  SharedStorage storage;
  const TensorMap& map_q;
  const TensorMap& map_k;
  const TensorMap& map_v;
#if LENGTHS
  const i32* lengths;
#endif

  /// 64 rows of Q: of one head, or of several packed heads from their first positions on.
  DEVICE void load_q(const WorkTile& tile, int row_block) const {
    const int head = tile.head % HEADS + row_block * 64 / kPositions;
    const BoxStart from{0, tile.row + row_block * 64 % kPositions, head, tile.head / HEADS};
    const u32 full = storage.q_full(row_block);
    mbarrier_arrive_expect_tx(full, ceil_div(HEAD_DIM, kBoxColumns) * 64 * kBoxBytes);
    const u32 to = storage.q() + row_block * 64 * kBoxBytes;
    tma_load_boxes<BLOCK_M * kBoxBytes, HEAD_DIM, kBoxColumns>(to, map_q, from, full);
  }
  template <int kColumns>
  DEVICE void load_kv(const TensorMap& map, u32 to, u32 full, const WorkTile& tile,
                      int iteration) const {
    const int kv_head = tile.head % HEADS / kHeadGroup;
    const BoxStart from{0, first_key(tile, iteration), kv_head, tile.head / HEADS};
    mbarrier_arrive_expect_tx(full, ceil_div(kColumns, kBoxColumns) * BLOCK_N * kBoxBytes);
    tma_load_boxes<BLOCK_N * kBoxBytes, kColumns, kBoxColumns>(to, map, from, full);
  }
  DEVICE void load_v_stage(int stage, const WorkTile& tile, int iteration) const {
    if constexpr (kVComesTransposed) {
      const u32 full = storage.v_full(stage);
      const int kv_head = tile.head % HEADS / kHeadGroup;
      constexpr int kBoxes = ceil_div(BLOCK_N, kKeyBoxBytes);
      mbarrier_arrive_expect_tx(full, kBoxes * HEAD_DIM * kKeyBoxBytes);
#pragma unroll
      for (int box = 0; box < kBoxes; ++box) {
        const int key = first_key(tile, iteration) + box * kKeyBoxBytes;
        tma_load(storage.v(stage) + box * (kVRows * kKeyBoxBytes), map_v,
                 {key, 0, kv_head, tile.head / HEADS}, full);
      }
    } else {
      load_kv<VALUE_DIM>(map_v, storage.v(stage), storage.v_full(stage), tile, iteration);
    }
  }

  /// Initialises the barriers, waits for the grid dependency, and issues the loads that the first
  /// QK^T needs; with kEarlyV another thread those of V's first stage, which is needed as soon and
  /// has to be transposed before. One thread each: mbarrier and TMA instructions take one address a
  /// warp, which must not depend on the lane, or the compiler loops over the lanes.
  DEVICE void prologue(const WorkTile& tile) const {
    if (threadIdx.x == 0) {
#pragma unroll
      for (int row_block = 0; row_block < kEarlyRowBlocks; ++row_block) {
        mbarrier_init(storage.q_full(row_block), 1);
      }
      mbarrier_init(storage.k_full(0), 1);
      mbarrier_init_fence();
      grid_dependency_wait();
      if (tile.cta_n_blocks > 0) {
        load_q(tile, 0);
        load_kv<HEAD_DIM>(map_k, storage.k(0), storage.k_full(0), tile, 0);
#pragma unroll
        for (int row_block = 1; row_block < kEarlyRowBlocks; ++row_block) load_q(tile, row_block);
      }
    }
    if (threadIdx.x == 32) init_other_barriers();
    if (kEarlyV && threadIdx.x == kThreads - 32) {
      mbarrier_init(storage.v_full(0), 1);
      mbarrier_init_fence();
      grid_dependency_wait();
      if (tile.cta_n_blocks > 0) load_v_stage(0, tile, 0);
    }
  }

  /// By one thread, after `prologue` and a barrier of the CTA: the other rows of Q, and every stage
  /// once.
  DEVICE void fill_stages(const WorkTile& tile) const {
    if (tile.cta_n_blocks == 0) return;
#pragma unroll
    for (int row_block = kEarlyRowBlocks; row_block < kRowBlocks; ++row_block) {
      load_q(tile, row_block);
    }
#pragma unroll
    for (int stage = 0; stage < kStages; ++stage) {
      if (stage >= tile.cta_n_blocks) return;
      if (stage > 0)
        load_kv<HEAD_DIM>(map_k, storage.k(stage), storage.k_full(stage), tile, stage);
      if (stage > 0 || !kEarlyV) load_v_stage(stage, tile, stage);
    }
  }

  /// By one thread, after `prologue` and a barrier of the CTA: all loads that the prologue left. K
  /// runs ahead of V by the blocks whose QK^T is issued before the first PV. A TMA unit takes an
  /// instruction when it can load: this thread waits for most of the stages, and must have handed
  /// its registers to consumers before.
  DEVICE void load(int first_tile) const {
    fill_stages(work_tile_at(first_tile LENGTHS_ARGUMENT));
    ProducerState k(first_tile LENGTHS_ARGUMENT);
    ProducerState v(first_tile LENGTHS_ARGUMENT);
    constexpr int kLead = kIntraWgOverlap ? 2 * INTRA_CTA_SPLITS : INTRA_CTA_SPLITS;
#pragma unroll 1
    for (int i = 0; i < kLead && k.more(); ++i) load_k(k);
#pragma unroll 1
    while (v.more()) {
      load_v(v);
      if (k.more()) load_k(k);
    }
  }

  /// By one thread: Q of all work tiles but the first. The loads of K and V are another's, or the
  /// warpgroup that is ahead would wait for them until the last one's QK^T is done.
  DEVICE void load_later_q(int first_tile) const {
    u32 phase = 0;
#pragma unroll 1
    for (int index = first_tile + kCtas; has_work_tile(index); index += kCtas) {
      load_next_q(work_tile_at(index LENGTHS_ARGUMENT), phase);
      phase ^= 1;
    }
  }

 private:
  // Whose rows of Q the prologue loads.
  static constexpr int kEarlyRowBlocks = kEarlyV ? kRowBlocks : 1;

  DEVICE void init_other_barriers() const {
#pragma unroll
    for (int row_block = kEarlyRowBlocks; row_block < kRowBlocks; ++row_block) {
      mbarrier_init(storage.q_full(row_block), 1);
    }
    if (kPersistent) {
#pragma unroll
      for (int row_block = 0; row_block < kRowBlocks; ++row_block) {
        mbarrier_init(storage.q_empty(row_block), 4);
      }
    }
    if (CLUSTER_SPLITS > 1) {
      mbarrier_init(storage.combine_full(), 1);
      mbarrier_arrive_expect_tx(storage.combine_full(), SharedStorage::kCombineBytes);
    }
#pragma unroll
    for (int stage = 0; stage < kStages; ++stage) {
      if (stage > 0) mbarrier_init(storage.k_full(stage), 1);
      if (stage > 0 || !kEarlyV) mbarrier_init(storage.v_full(stage), 1);
      if (!kResident) mbarrier_init(storage.k_empty(stage), 4 * kRowBlocks);
      if (!kResident) mbarrier_init(storage.pv_empty(stage), 4 * kRowBlocks);
      if (kTransposeV) mbarrier_init(storage.pv_full(stage), kTransposingWarps);
      if (kTransposeV && !kResident) mbarrier_init(storage.v_empty(stage), kTransposingWarps);
    }
    mbarrier_init_fence();
  }

  /// Whether fill_stages has issued it.
  DEVICE static bool filled(const ProducerState& at) { return at.nth == 0 && at.count < kStages; }
  DEVICE static void wait_empty(u32 barrier, int count) {
    if (count >= kStages) mbarrier_wait(barrier, (count / kStages + 1) % 2);
  }
  /// 64 rows as soon as the warpgroup of those before has read them.
  DEVICE void load_next_q(const WorkTile& tile, u32 phase) const {
#pragma unroll
    for (int row_block = 0; row_block < kRowBlocks; ++row_block) {
      mbarrier_wait(storage.q_empty(row_block), phase);
      load_q(tile, row_block);
    }
  }
  DEVICE void load_k(ProducerState& at) const {
    const int stage = at.count % kStages;
    if (kPersistent && !kQHasLoader && at.nth > 0 && at.iteration == 0) {
      load_next_q(at.tile, (at.nth + 1) % 2);
    }
    if (!filled(at)) {
      wait_empty(storage.k_empty(stage), at.count);
      load_kv<HEAD_DIM>(map_k, storage.k(stage), storage.k_full(stage), at.tile, at.iteration);
    }
    at.advance();
  }
  DEVICE void load_v(ProducerState& at) const {
    const int stage = at.count % kStages;
    if (!filled(at)) {
      wait_empty(storage.v_empty(stage), at.count);
      load_v_stage(stage, at.tile, at.iteration);
    }
    at.advance();
  }
};
