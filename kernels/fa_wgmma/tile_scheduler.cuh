// tile_scheduler.cuh: Gives a CTA index its work tile: which query rows, and which KV blocks in
// which order.
#pragma once

#include "common/block_list.cuh"
#include "fa_wgmma/traits.cuh"

/// BLOCK_M query rows of a head, or of packed heads, and the KV blocks that a CTA processes for
/// them.
struct WorkTile {
  int row;           // position of the first row
  int head;          // the first of the packed heads, counted over the batch
  int n_blocks;      // KV blocks that the rows see
  int cta_n_blocks;  // those of them that this CTA processes
  int first_block;   // where they begin, if CTAs without a cluster share them
#if LENGTHS
  int origin;  // the key with which the first KV block begins
#endif
};

#if MASK_EXPR
/// Of the CTA's one work tile.
DEVICE BlockList& block_list() {
  extern __shared__ __align__(1024) u8 shared[];
  return *reinterpret_cast<BlockList*>(shared + SHARED_BYTES - BLOCK_LIST_BYTES);
}
#define LISTED(blocks) (kAll ? (blocks) : block_list().count)
#define LISTED_BLOCK(nth) block_list().block(nth)
#else
#define LISTED(blocks) blocks
#define LISTED_BLOCK(nth) (nth)
#endif

DEVICE int cluster_rank() {
  return CLUSTER_SPLITS == 1 ? 0 : static_cast<int>(blockIdx.x) % CLUSTER_SPLITS;
}

/// `paired`: a head's longest tile and its shortest, the next longest and the next shortest, and so
/// on: pairs of the same length, which a persistent CTA processes one after the other. Where a head
/// has an odd number of tiles, the pairs are of two heads.
struct TilePairs {
  static constexpr int kHeads = kMBlocks % 2 == 0 ? 1 : 2;
  static constexpr int kTiles = kHeads * kMBlocks;  // of these heads, by length

  DEVICE static int pair_at(int index) { return index / (2 * kCtas) * kCtas + index % kCtas; }
  /// The index in the order `query` of the work tile that has this one.
  DEVICE static int in_query_order(int index) {
    const int pair = pair_at(index);
    int nth = pair % (kTiles / 2);
    if (index / kCtas % 2 == 1) nth = kTiles - 1 - nth;
    const int head_set = pair / (kTiles / 2) * kHeads + nth % kHeads;
    return head_set * kMBlocks + nth / kHeads;
  }
};

/// Whether a persistent CTA that takes every kCtas-th index finds a work tile at this one.
DEVICE bool has_work_tile(int index) {
  return kPaired ? TilePairs::pair_at(index) < kWorkTiles / 2 : index < kWorkTiles;
}

/// KV blocks begin with the first key that a row sees. Where a bias is copied, 16 bytes at a time,
/// they begin with the multiple of 16 before it.
DEVICE int first_of_blocks(int first_seen) { return kBias ? first_seen / 16 * 16 : first_seen; }

/// Work tiles in the order of GRID_ORDER: those of kSectionHeads heads in turn, then those of the
/// next; causal: the longest first (LPT). `zigzag`: every other wave runs backwards, so that the SM
/// with the longest tile of one wave gets the shortest of the next. `rotate`: each head begins with
/// another tile.
/// From kWholeTiles on, kTailSplits neighbouring indices share a tile's KV blocks.
/// Where the mask has an expression, n_blocks counts the listed blocks, or with kAll those that the
/// list is made of.
#if MASK_EXPR
template <bool kAll = false>
#endif
DEVICE WorkTile work_tile_at(int index LENGTHS_PARAMETER) {
  const bool is_split = kTailSplits > 1 && index >= kWholeTiles;
  const int part = is_split ? (index - kWholeTiles) % kTailSplits : 0;
  if (is_split) index = kWholeTiles + (index - kWholeTiles) / kTailSplits;
  if (kPaired) index = TilePairs::in_query_order(index);
  constexpr int kHeadSets = BATCH * HEADS / kPack;
  constexpr int kWave = kPersistent ? kCtas : SM_COUNT;
  if (kZigzag && index / kWave % 2 == 1) {
    const int first = index - index % kWave;
    index = first + min(kWave, kWorkTiles - first) - 1 - index % kWave;
  }
  int first = 0, heads = kHeadSets;  // of the section
  if (kSectionHeads < kHeadSets) {
    constexpr int kSectionTiles = kSectionHeads * kMBlocks;
    first = index / kSectionTiles * kSectionHeads;
    heads = kHeadSets % kSectionHeads == 0 ? kSectionHeads : min(kSectionHeads, kHeadSets - first);
    index %= kSectionTiles;
  }
  int m_block = index / heads;
  const int head_set = first + index % heads;
  if (kRotate) m_block = (m_block + head_set) % kMBlocks;
  const int row = (kBoundedAfter ? kMBlocks - 1 - m_block : m_block) * kPositions;
  const int last_row = min(row + kPositions, SEQ_Q) - 1;
#if LENGTHS
  const int batch = head_set * kPack / HEADS;
  const int origin = first_of_blocks(seen_keys(lengths, batch, row).begin);
  const int seen = seen_keys(lengths, batch, last_row).end - origin;
  const int n_blocks = LISTED(ceil_div(max(0, seen), BLOCK_N));
#elif KEYS_BEFORE >= 0
  const int n_blocks =
      LISTED(ceil_div(key_end(last_row) - first_of_blocks(key_begin(row)), BLOCK_N));
#else
  const int n_blocks = LISTED(ceil_div(key_end(last_row), BLOCK_N));
#endif
  if (is_split) {
    const int each = n_blocks / kTailSplits;
    const int more = n_blocks % kTailSplits;
    return {row, head_set * kPack, n_blocks, each + (part < more ? 1 : 0),
            part * each + min(part, more)};
  }
  // Of every kSplits KV blocks this CTA has INTRA_CTA_SPLITS.
  const int before = n_blocks % kSplits - cluster_rank() * INTRA_CTA_SPLITS;
  const int rest =
      CLUSTER_SPLITS == 1 ? n_blocks % kSplits : max(0, min(INTRA_CTA_SPLITS, before));
  return {row, head_set * kPack, n_blocks, n_blocks / kSplits * INTRA_CTA_SPLITS + rest, 0
#if LENGTHS
          , origin
#endif
  };
}

/// The first key of the KV block of a CTA's iteration.
DEVICE int first_key(const WorkTile& tile, int iteration) {
  int n_block = kTailSplits > 1 ? tile.first_block + iteration : iteration;
  if (CLUSTER_SPLITS > 1) {
    n_block = iteration / INTRA_CTA_SPLITS * kSplits + cluster_rank() * INTRA_CTA_SPLITS +
              iteration % INTRA_CTA_SPLITS;
  }
  const int key = LISTED_BLOCK(kBackward ? tile.n_blocks - 1 - n_block : n_block) * BLOCK_N;
#if LENGTHS
  return tile.origin + key;
#elif KEYS_BEFORE >= 0
  return first_of_blocks(key_begin(tile.row)) + key;
#else
  return key;
#endif
}

#if MASK_EXPR
/// The key with which the work tile's block 0 begins.
DEVICE int origin_of(const WorkTile& tile) {
#if LENGTHS
  return tile.origin;
#else
  return first_of_blocks(key_begin(tile.row));
#endif
}

/// By one warp: lists those of the work tile's KV blocks that its rows see.
DEVICE void list_blocks(const WorkTile& tile TENSORS_PARAMETER) {
  const int last_row = min(tile.row + kPositions, SEQ_Q) - 1;
  const int head = tile.head % HEADS;
  block_list().fill(origin_of(tile), tile.n_blocks, tile.head / HEADS, {head, head + kPack - 1},
                    {tile.row, last_row} WITH_TENSORS(tensors));
}

/// Whether some row may not see some key of the KV block.
DEVICE bool is_partial(const WorkTile& tile, int first_key) {
  return block_list().is_partial((first_key - origin_of(tile)) / BLOCK_N);
}
#endif
