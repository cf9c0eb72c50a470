// fp8_config.cuh - the parameters of fa_wgmma_fp8, and what it fixes, to what the headers of the
// family ask for.
#pragma once

#include "common/prelude.cuh"

constexpr bool kInterleaved = false;
constexpr bool kIntraWgOverlap = INTRA_WG_OVERLAP != INTRA_WG_OVERLAP_OFF;
constexpr bool kFencedOverlap = INTRA_WG_OVERLAP == INTRA_WG_OVERLAP_FENCED;
constexpr bool kPingpong = PINGPONG != 0;
constexpr int kStagger = 0;
constexpr bool kMmaPvIsRs = true;
constexpr bool kLazyRescale = RESCALE == RESCALE_LAZY;
constexpr bool kLateRescale = false;
constexpr int kEx2Linear = EX2_LINEAR;
constexpr bool kF16Scores = SCORES == SCORES_F16;
constexpr bool kRowSumByMma = ROW_SUM == ROW_SUM_MMA;
constexpr bool kPersistent = SCHEDULER == SCHEDULER_STATIC_PERSISTENT;
constexpr bool kBackward = KV_ORDER == KV_ORDER_BACKWARD;
constexpr bool kRotate = GRID_ORDER == GRID_ORDER_ROTATE;
constexpr bool kPaired = GRID_ORDER == GRID_ORDER_PAIRED;
constexpr bool kZigzag = GRID_ORDER == GRID_ORDER_ZIGZAG;
constexpr int kSectionHeads = SECTION_HEADS;
constexpr bool kHasProducer = true;
constexpr bool kReallocRegisters = REALLOC_REGISTERS != 0;
// By the producer warpgroup, unless whoever quantizes has done it.
#if defined(V_TRANSPOSED_BY) && V_TRANSPOSED_BY == V_TRANSPOSED_BY_QUANTIZER
constexpr bool kTransposeV = false;
#else
constexpr bool kTransposeV = true;
#endif
constexpr bool kEarlyV = false;
constexpr bool kStoreTma = false;
constexpr int kPromotedColumns = PROMOTED_COLUMNS;
constexpr int kSummedBlocks = SUMMED_BLOCKS;
constexpr bool kPromoteHalves = PROMOTE == PROMOTE_HALF;
constexpr int kTailSplits = 1;
constexpr int kWholeTiles = WORK_TILES;
// Shared memory of a CTA that not all kernels have.
constexpr int kPBytes = 0;
constexpr int kOBytes = 0;
constexpr int kVTransposedBytes = V_TRANSPOSED_BYTES;
constexpr int kOnesBytes = 0;
