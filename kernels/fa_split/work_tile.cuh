// work_tile.cuh: Says what a CTA of fa_split works on: its rows, its split of the KV blocks, its
// shared memory.
#pragma once

#include "common/block_list.cuh"
#include "common/combine_partial.cuh"
#include "common/mma_bias.cuh"
#include "common/mma_epilogue.cuh"
#include "common/mma_modifiers.cuh"
#include "common/mma_products.cuh"
#include "common/mma_softmax.cuh"
#include "common/row_copier.cuh"
#include "common/softcap.cuh"
#include "common/swizzled_tile.cuh"

constexpr int kThreads = NUM_WARPS * 32;
constexpr int kRowWarps = NUM_WARPS / INTRA_CTA_SPLITS;  // warps of a group: they divide the rows
constexpr int kSplitThreads = kRowWarps * 32;
constexpr int kMTiles = BLOCK_M / (16 * kRowWarps);  // 16-row tiles of a warp
constexpr int kSplitKeys = BLOCK_N / INTRA_CTA_SPLITS;  // keys of a KV block that one group sees
constexpr int kNTiles = kSplitKeys / 8;                 // 8-key tiles of its S
template <typename Tensor>  // a group's share of one KV block of K or of V
constexpr int kStageBytes = kSplitKeys * TileRows<Tensor::kColumns>::kRowBytes;
constexpr int kVOffset = STAGES * kStageBytes<KTensor>;  // of STAGES stages of V behind those of K
constexpr int kGroupBytes = kVOffset + STAGES * kStageBytes<VTensor>;  // these lie behind Q

constexpr int kRows = kHeadGroup * SEQ_Q;  // of one key/value head, head by head
constexpr int kRowTiles = ceil_div(kRows, BLOCK_M);
constexpr int kFirstBlock = key_begin(0) / BLOCK_N;
constexpr int kNBlocks = ceil_div(key_end(SEQ_Q - 1), BLOCK_N) - kFirstBlock;
constexpr bool kRaggedRows = kRows % BLOCK_M != 0;
constexpr bool kRaggedKeys = SEQ_KV % BLOCK_N != 0;
// A mask hides keys of the KV blocks; of a diagonal alone, the last query sees all of them.
constexpr bool kHidesKeys =
    kLengths || kMaskExpr || kBoundedBefore || (kBoundedAfter && (SEQ_Q > 1 || DIAGONAL + 1 < SEQ_KV));
constexpr bool kAnyMask = kHidesKeys || kRaggedKeys;

static_assert(kMTiles * 16 * kRowWarps == BLOCK_M, "every warp owns whole 16-row tiles");
static_assert(kSplitKeys * INTRA_CTA_SPLITS == BLOCK_N && kSplitKeys % (8 * kPTiles) == 0,
              "16 keys are one k-step of PV, or 32 of fp8");

using WarpState = State<kMTiles, kDTiles>;
using WarpScores = Scores<kMTiles, kNTiles>;
using WarpP = PFragment<kMTiles, kNTiles>;
using CtaExchange = Exchange<BLOCK_M, INTRA_CTA_SPLITS>;
#if MASK_EXPR
constexpr int kBlockListBytes = BLOCK_LIST_BYTES;  // at the end
#else
constexpr int kBlockListBytes = 0;
#endif
static_assert(Q_BYTES + max_of(INTRA_CTA_SPLITS * kGroupBytes, CtaExchange::kBytes) + kBlockListBytes ==
                      SHARED_BYTES &&
                  Q_BYTES == BLOCK_M * kRowBytes,
              "the launch asks for what is laid out here");

/// The hardware barriers beside __syncthreads (0).
enum class NamedBarrier : int {
  kSplit = 1,  // one for each group of warps
};

/// A barrier of one group's threads, which also orders their use of shared memory.
DEVICE void sync_split(int group) {
  if constexpr (kRowWarps == 1) {
    __syncwarp();
  } else {
    const int id = static_cast<int>(NamedBarrier::kSplit) + group;
    asm volatile("bar.sync %0, %1;" ::"r"(id), "n"(kSplitThreads) : "memory");
  }
}

/// Neighbouring CTAs have the row tiles of one split of the keys: all but one read it from L2.
DEVICE Place place_of_thread() {
  const int warp = static_cast<int>(threadIdx.x) / 32;
  Place place;
  place.lane = static_cast<int>(threadIdx.x) % 32;
  place.split = warp / kRowWarps;
  place.first_row = warp % kRowWarps * 16 * kMTiles;
  place.block_row = static_cast<int>(blockIdx.x) % kRowTiles * BLOCK_M;
  place.head = static_cast<int>(blockIdx.x) / (kRowTiles * NUM_SPLITS);  // of keys and values
  return place;
}

DEVICE int cta_split() { return static_cast<int>(blockIdx.x) / kRowTiles % NUM_SPLITS; }

/// The KV blocks of one split; none when there are fewer blocks than splits.
struct SplitRange {
  int first;
  int count;

  DEVICE explicit SplitRange(int split) {
    constexpr int kEach = kNBlocks / NUM_SPLITS;
    constexpr int kMore = kNBlocks % NUM_SPLITS;
    first = kFirstBlock + split * kEach + min(split, kMore);
    count = kEach + (split < kMore ? 1 : 0);
  }
  /// Of listed blocks.
  DEVICE SplitRange(int blocks, int split) {
    const int each = blocks / NUM_SPLITS, more = blocks % NUM_SPLITS;
    first = split * each + min(split, more);
    count = each + (split < more ? 1 : 0);
  }

  /// Leaves out KV blocks at both ends that have none of these keys.
  DEVICE void narrow(int begin, int end) {
    const int last = min(first + count, ceil_div(end, BLOCK_N));
    first = max(first, begin / BLOCK_N);
    count = max(0, last - first);
  }
};
