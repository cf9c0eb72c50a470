// work.cuh - what a block works on: which rows, and which tiles of keys in which order.
#pragma once

#include "fa_wgmma/shape.cuh"

/// The query rows of one item, and the keys that a block visits for it.
struct Item {
  int row;     // position of the first row
  int head;    // the first of the packed heads, counted over the batch
  int tiles;   // of keys that the rows see
  int visits;  // tiles of them that this block of the cluster visits
};

/// This block's place in its cluster.
DEVICE int cluster_rank() { return CLUSTER == 1 ? 0 : static_cast<int>(blockIdx.x) % CLUSTER; }

/// Items in the order of GRID_ORDER; causal: long ones first, so that short ones fill the gaps.
/// `mirror`: in every other row of as many items as run at a time the order is turned round, so
/// that who had the longest then gets the shortest. `rotate`: each head begins with another tile.
DEVICE Item item_at(int index) {
  constexpr int kHeadSets = BATCH * HEADS / kPack;
  constexpr int kAtATime = kPersistent ? kBlocks : SM_COUNT;
  if (GRID_ORDER == GRID_ORDER_MIRROR && index / kAtATime % 2 == 1) {
    const int first = index - index % kAtATime;
    index = first + min(kAtATime, kItems - first) - 1 - index % kAtATime;
  }
  const bool by_head = GRID_ORDER == GRID_ORDER_QUERY || GRID_ORDER == GRID_ORDER_ROTATE;
  int tile = by_head ? index % kQueryTiles : index / kHeadSets;
  const int set = by_head ? index / kQueryTiles : index % kHeadSets;
  if (GRID_ORDER == GRID_ORDER_ROTATE) tile = (tile + set) % kQueryTiles;
  const int row = (CAUSAL != 0 ? kQueryTiles - 1 - tile : tile) * kPositions;
  const int last_row = min(row + kPositions, SEQ_Q) - 1;
  const int tiles = ceil_div(visible_keys(last_row), BLOCK_N);
  // Of every kParts tiles this block has KEY_PARTS, from the first one on.
  const int before = tiles % kParts - cluster_rank() * KEY_PARTS;
  const int rest = CLUSTER == 1 ? tiles % kParts : max(0, min(KEY_PARTS, before));
  return {row, set * kPack, tiles, tiles / kParts * KEY_PARTS + rest};
}

/// The first key of the tile of a block's visit.
DEVICE int first_key(const Item& item, int visit) {
  int tile = visit;
  if (CLUSTER > 1) {
    tile = visit / KEY_PARTS * kParts + cluster_rank() * KEY_PARTS + visit % KEY_PARTS;
  }
  return (KV_ORDER == KV_ORDER_FORWARD ? tile : item.tiles - 1 - tile) * BLOCK_N;
}
