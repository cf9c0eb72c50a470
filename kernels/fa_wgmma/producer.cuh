// loader.cuh - brings Q and the tiles of K and V by tensor copies, the latter through rings.
#pragma once

#include "common/launch.cuh"
#include "common/tma.cuh"
#include "fa_wgmma/memory.cuh"
#include "fa_wgmma/work.cuh"

/// A walk over the visits of all of a block's items. Visit number `turn` since the block began uses
/// slot turn % kStages of a ring.
struct Walk {
  int index;  // of the item
  int nth;    // of the block's items
  Item item;
  int visit;
  int turn;

  DEVICE explicit Walk(int first) : index(first), nth(0), item(item_at(first)), visit(0), turn(0) {
    skip_finished();
  }
  DEVICE bool more() const { return index < kItems; }
  DEVICE void next() {
    ++visit;
    ++turn;
    skip_finished();
  }

 private:
  DEVICE void skip_finished() {
    while (visit >= item.visits) {
      index += kPersistent ? kBlocks : kItems;
      if (!more()) return;
      ++nth;
      item = item_at(index);
      visit = 0;
    }
  }
};

struct Loader {
  Memory memory;
  const TensorMap& map_q;
  const TensorMap& map_k;
  const TensorMap& map_v;

  /// The 64 rows of a row block, which are of one head, or of several from their first positions
  /// on.
  DEVICE void load_q(const Item& item, int row_block) const {
    const int head = item.head % HEADS + row_block * 64 / kPositions;
    const BoxStart from{0, item.row + row_block * 64 % kPositions, head, item.head / HEADS};
    const u32 here = memory.q_here(row_block);
    mbarrier_expect(here, Memory::kQBytes / kRowBlocks);
    tensor_copy_boxes<BLOCK_M * 128, HEAD_DIM>(memory.q() + row_block * 64 * 128, map_q, from,
                                               here);
  }
  DEVICE void load(const TensorMap& map, u32 to, u32 here, const Item& item, int visit) const {
    const int kv_head = item.head % HEADS / kHeadGroup;
    const BoxStart from{0, first_key(item, visit), kv_head, item.head / HEADS};
    mbarrier_expect(here, Memory::kTileBytes);
    tensor_copy_boxes<BLOCK_N * 128, HEAD_DIM>(to, map, from, here);
  }

  /// Makes the barriers, waits for the work in front, and starts the copies that the first products
  /// wait for. A barrier and a
  /// copy are asked for by one thread of a warp at an address that the compiler knows, or they cost
  /// a loop over the warp's lanes: hence one thread, and no index that depends on it.
  DEVICE void open(const Item& item) const {
    if (threadIdx.x == 0) {
      mbarrier_init(memory.q_here(0), 1);
      mbarrier_init(memory.k_here(0), 1);
      mbarrier_init_fence();
      wait_for_work_in_front();
      if (item.visits > 0) {
        load_q(item, 0);
        load(map_k, memory.k(0), memory.k_here(0), item, 0);
      }
    }
    if (threadIdx.x == 32) make_other_barriers();
  }

  /// By one thread, after `open` and a barrier of the block: fills the rings.
  DEVICE void fill(const Item& item) const {
    if (item.visits == 0) return;
#pragma unroll
    for (int row_block = 1; row_block < kRowBlocks; ++row_block) load_q(item, row_block);
#pragma unroll
    for (int slot = 0; slot < kStages; ++slot) {
      if (slot >= item.visits) return;
      if (slot > 0) load(map_k, memory.k(slot), memory.k_here(slot), item, slot);
      load(map_v, memory.v(slot), memory.v_here(slot), item, slot);
    }
  }

  /// By one thread: all that did not fit the rings at first. K runs ahead of V by the tiles whose
  /// scores are computed before the first V is used.
  DEVICE void stream(int first_item) const {
    Walk keys(first_item);
    Walk values(first_item);
    constexpr int kLead = OVERLAP == OVERLAP_NONE ? KEY_PARTS : 2 * KEY_PARTS;
#pragma unroll 1
    for (int i = 0; i < kLead && keys.more(); ++i) bring_k(keys);
#pragma unroll 1
    while (values.more()) {
      bring_v(values);
      if (keys.more()) bring_k(keys);
    }
  }

 private:
  DEVICE void make_other_barriers() const {
#pragma unroll
    for (int row_block = 1; row_block < kRowBlocks; ++row_block) {
      mbarrier_init(memory.q_here(row_block), 1);
    }
    if (kPersistent) mbarrier_init(memory.q_free(), 4 * kConsumers);
#pragma unroll
    for (int slot = 0; slot < kStages; ++slot) {
      if (slot > 0) mbarrier_init(memory.k_here(slot), 1);
      mbarrier_init(memory.v_here(slot), 1);
      if (!kResident) mbarrier_init(memory.k_free(slot), 4 * kRowBlocks);
      if (!kResident) mbarrier_init(memory.v_free(slot), 4 * kRowBlocks);
    }
    mbarrier_init_fence();
  }

  DEVICE static bool opened(const Walk& at) { return at.nth == 0 && at.turn < kStages; }
  DEVICE static void wait_free(u32 barrier, int turn) {
    if (turn >= kStages) mbarrier_wait(barrier, (turn / kStages + 1) % 2);
  }
  DEVICE void bring_k(Walk& at) const {
    const int slot = at.turn % kStages;
    if (at.nth > 0 && at.visit == 0) {
      mbarrier_wait(memory.q_free(), (at.nth + 1) % 2);
#pragma unroll
      for (int row_block = 0; row_block < kRowBlocks; ++row_block) load_q(at.item, row_block);
    }
    if (!opened(at)) {
      wait_free(memory.k_free(slot), at.turn);
      load(map_k, memory.k(slot), memory.k_here(slot), at.item, at.visit);
    }
    at.next();
  }
  DEVICE void bring_v(Walk& at) const {
    const int slot = at.turn % kStages;
    if (!opened(at)) {
      wait_free(memory.v_free(slot), at.turn);
      load(map_v, memory.v(slot), memory.v_here(slot), at.item, at.visit);
    }
    at.next();
  }
};
