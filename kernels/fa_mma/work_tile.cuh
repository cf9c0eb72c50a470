// work_tile.cuh: Says what a CTA of fa_mma works on: its rows, its KV blocks and its shared memory.
#pragma once

#include "common/block_list.cuh"
#include "common/mma_bias.cuh"
#include "common/mma_epilogue.cuh"
#include "common/mma_modifiers.cuh"
#include "common/mma_products.cuh"
#include "common/mma_softmax.cuh"
#include "common/packed_rows.cuh"
#include "common/softcap.cuh"
#include "common/swizzled_tile.cuh"

constexpr int kThreads = NUM_WARPS * 32;
constexpr int kRowWarps = NUM_WARPS / INTRA_CTA_SPLITS;  // warps that divide the rows
constexpr int kMTiles = BLOCK_M / (16 * kRowWarps);      // 16-row tiles of a warp
constexpr int kWarpKeys = BLOCK_N / INTRA_CTA_SPLITS;  // keys of a KV block that one warp sees
constexpr int kNTiles = kWarpKeys / 8;                 // 8-key tiles of its S
template <typename Tensor>
constexpr int kStageBytes = BLOCK_N * TileRows<Tensor::kColumns>::kRowBytes;  // of K or of V
constexpr int kKOffset = Q_BYTES;  // shared memory: Q, STAGES stages of K, as many of V
constexpr int kVOffset = kKOffset + STAGES * kStageBytes<KTensor>;
// The combine takes the place of K and V.
constexpr int kCombineBytes =
    INTRA_CTA_SPLITS == 1 ? 0 : Exchange<BLOCK_M, INTRA_CTA_SPLITS>::kBytes;
#if MASK_EXPR
constexpr int kBlockListBytes = BLOCK_LIST_BYTES;  // at the end
#else
constexpr int kBlockListBytes = 0;
#endif
constexpr int kSharedBytes =
    max_of(kVOffset + STAGES * kStageBytes<VTensor>, kKOffset + kCombineBytes) + kBlockListBytes;
constexpr int kPack = PACKED_HEADS;  // query heads whose rows a CTA packs together
using Rows = PackedRows<kPack>;
constexpr int kMBlocks = ceil_div(Rows::kRows, BLOCK_M);
constexpr bool kRaggedKeys = SEQ_KV % BLOCK_N != 0;
constexpr bool kRaggedRows = Rows::kRows % BLOCK_M != 0;
constexpr bool kAnyMask = kLengths || kMaskExpr || kBoundedBefore || kBoundedAfter || kRaggedKeys;
constexpr bool kChangesScores = kSoftcap || kBias || kAlibi || kScoreExpr;
constexpr int kHeldQ = Q_IN_REGS ? HEAD_DIM / 4 : 0;
/// O, S and held Q take most of a thread's registers.
constexpr bool kFewRegisters = kMTiles * (VALUE_DIM / 2 + kWarpKeys / 2 + kHeldQ) > 160;

static_assert(kMTiles * 16 * kRowWarps == BLOCK_M, "every warp owns whole 16-row tiles");
static_assert(kSharedBytes == SHARED_BYTES &&
                  Q_BYTES == BLOCK_M * max_of(kRowBytes, kValueRowBytes),
              "the launch asks for what is laid out here");
static_assert(kWarpKeys * INTRA_CTA_SPLITS == BLOCK_N && kWarpKeys % (8 * kPTiles) == 0,
              "16 keys are one k-step of PV, or 32 of fp8");

template <typename Tensor>
using CtaCopier = Copier<kThreads, Tensor>;
using WarpState = State<kMTiles, kDTiles>;
using WarpScores = Scores<kMTiles, kNTiles>;
using WarpP = PFragment<kMTiles, kNTiles>;

/// What a warp's mmas read: its rows of Q, its share of the keys in the stages of K and V.
struct Operands {
  QueryRows<kMTiles, Q_IN_REGS> q;
  Fragments<KeyRows> first_k;  // in stage 0
  Fragments<ValueRows> first_v;

  DEVICE Fragments<KeyRows> k(int stage) const {
    return first_k.in_stage(stage * kStageBytes<KTensor>);
  }
  DEVICE Fragments<ValueRows> v(int stage) const {
    return first_v.in_stage(stage * kStageBytes<VTensor>);
  }
};

/// The KV blocks of this CTA: `count` of them, from `first` on. Those before `unmasked` and those
/// from `unmasked_end` on, counted from `first`, need a mask.
struct NBlocks {
  int first, count;
  int unmasked, unmasked_end;
};

DEVICE NBlocks n_blocks_of(int first_row, const Modifiers& modifiers, int batch) {
  const int last_row = min(first_row + BLOCK_M, Rows::kRows) - 1;
#if LENGTHS
  const KeyRange front = seen_keys(modifiers.lengths, batch, Rows::position(first_row));
  const KeyRange back = seen_keys(modifiers.lengths, batch, Rows::position(last_row));
  const int first_seen = front.begin / BLOCK_N;
  const int seen = max(0, ceil_div(back.end, BLOCK_N) - first_seen);
  const int whole = ceil_div(back.begin, BLOCK_N) - first_seen;
  return {first_seen, seen, min(whole, seen), max(whole, front.end / BLOCK_N - first_seen)};
#endif
  (void)modifiers, (void)batch;
  const int end = ceil_div(key_end(Rows::position(last_row)), BLOCK_N);
  const int unmasked_end = key_end(Rows::position(first_row)) / BLOCK_N;
  if (!kBoundedBefore) return {0, end, 0, unmasked_end};
  const int first = key_begin(Rows::position(first_row)) / BLOCK_N;
  const int unmasked = ceil_div(key_begin(Rows::position(last_row)), BLOCK_N) - first;
  return {first, end - first, min(unmasked, end - first), max(unmasked, unmasked_end - first)};
}

/// Where this thread works. Causal: the longest work tiles first (LPT). Reads the special registers
/// anew at each call: computing the place again after the mainloop costs less than holding it in
/// registers during it.
DEVICE Place place_of_thread() {
  int thread;
  int block;
  asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
  asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(block));
#if GRID_ORDER == GRID_ORDER_QUERY
  const int m_block = block % kMBlocks;
  const int head = block / kMBlocks;
#else
  const int m_block = block / Rows::kHeads;
  const int head = block % Rows::kHeads;
#endif
  const int block_row = (kBoundedAfter ? kMBlocks - 1 - m_block : m_block) * BLOCK_M;
  const int warp = thread / 32;
  return {thread % 32, warp / kRowWarps, warp % kRowWarps * 16 * kMTiles, block_row, head};
}

#if MASK_EXPR || SCORE_EXPR
/// The place of a row of the tile, counted over the pack.
DEVICE RowPlace row_place(const Place& place, int of_pack) {
  const int head = place.head * kPack + of_pack % kPack;
  return {head / HEADS, head % HEADS, Rows::position(of_pack)};
}
#endif

#if MASK_EXPR
/// By one warp: lists those of the CTA's KV blocks that its rows see.
DEVICE void list_blocks(BlockList& blocks, const NBlocks& n_blocks,
                        const Place& place TENSORS_PARAMETER) {
  const int first_head = place.head * kPack;
  const int last_row = min(place.block_row + BLOCK_M, Rows::kRows) - 1;
  blocks.fill(n_blocks.first * BLOCK_N, n_blocks.count, first_head / HEADS,
              {first_head % HEADS, first_head % HEADS + kPack - 1},
              {Rows::position(place.block_row), Rows::position(last_row)} WITH_TENSORS(tensors));
}
#endif
