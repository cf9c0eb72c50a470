// fp8_interleaved_config.cuh - the parameters of fa_wgmma_fp8_interleaved, and what it fixes, to what
// the headers of the family ask for.
#pragma once

#include "common/prelude.cuh"

constexpr bool kInterleaved = true;
constexpr bool kIntraWgOverlap = true;
constexpr bool kFencedOverlap = false;
constexpr bool kPingpong = false;
constexpr int kStagger = 0;
constexpr bool kMmaPvIsRs = true;
constexpr bool kLazyRescale = false;
constexpr bool kLateRescale = false;
constexpr int kEx2Linear = EX2_LINEAR;
constexpr bool kF16Scores = false;
constexpr bool kRowSumByMma = ROW_SUM == ROW_SUM_MMA;
constexpr bool kPersistent = false;
constexpr bool kBackward = false;
constexpr bool kRotate = false;
constexpr bool kPaired = false;
constexpr bool kZigzag = GRID_ORDER == GRID_ORDER_ZIGZAG;
constexpr int kSectionHeads = SECTION_HEADS;
constexpr bool kHasProducer = true;
constexpr bool kReallocRegisters = REALLOC_REGISTERS != 0;
constexpr bool kTransposeV = true;
constexpr bool kEarlyV = FIRST_LOADS == FIRST_LOADS_QKV;
constexpr bool kStoreTma = false;
constexpr int kPromotedColumns = PROMOTE == PROMOTE_NEVER ? 0 : HEAD_DIM;
constexpr int kSummedBlocks = PROMOTE == PROMOTE_PAIR ? 2 : 1;
constexpr bool kPromoteHalves = false;
constexpr int kTailSplits = 1;
constexpr int kWholeTiles = WORK_TILES;
// Shared memory of a CTA that not all kernels have.
constexpr int kPBytes = 0;
constexpr int kOBytes = 0;
constexpr int kVTransposedBytes = V_TRANSPOSED_BYTES;
constexpr int kOnesBytes = 0;
