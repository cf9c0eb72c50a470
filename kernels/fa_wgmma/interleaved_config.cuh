// interleaved_config.cuh - the parameters of fa_wgmma_interleaved, and what its mainloop fixes, to
// what the headers of the family ask for.
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
constexpr int kEx2Linear = 0;
constexpr bool kF16Scores = false;
constexpr bool kRowSumByMma = ROW_SUM == ROW_SUM_MMA;
constexpr bool kPersistent = false;
constexpr bool kBackward = false;
constexpr bool kRotate = false;
constexpr bool kPaired = false;
constexpr bool kZigzag = GRID_ORDER == GRID_ORDER_ZIGZAG;
constexpr int kSectionHeads = SECTION_HEADS;
constexpr bool kHasProducer = PRODUCER != PRODUCER_NONE;
constexpr bool kReallocRegisters = PRODUCER == PRODUCER_WARPGROUP && LAUNCH_REGISTERS < 256;
constexpr bool kTransposeV = false;
constexpr bool kEarlyV = false;
constexpr bool kStoreTma = STORE == STORE_TMA;
constexpr bool kStoreRegisters = false;
constexpr int kPromotedColumns = 0;
constexpr int kSummedBlocks = 1;
constexpr bool kPromoteHalves = false;
constexpr int kTailSplits = 1;
constexpr int kWholeTiles = WORK_TILES;
// Shared memory of a CTA that not all kernels have.
constexpr int kPBytes = 0;
constexpr int kOBytes = 0;
constexpr int kVTransposedBytes = 0;
constexpr int kOnesBytes = ONES_BYTES;
