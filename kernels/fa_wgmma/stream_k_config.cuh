// stream_k_config.cuh - the parameters of fa_wgmma_stream_k, and what it fixes, to what the headers of
// the family ask for.
#pragma once

#include "common/prelude.cuh"

constexpr bool kInterleaved = false;
constexpr bool kIntraWgOverlap = INTRA_WG_OVERLAP != INTRA_WG_OVERLAP_OFF;
constexpr bool kFencedOverlap = INTRA_WG_OVERLAP == INTRA_WG_OVERLAP_FENCED;
constexpr bool kPingpong = PINGPONG != 0;
constexpr int kStagger = 0;
constexpr bool kMmaPvIsRs = true;
constexpr bool kLazyRescale = RESCALE == RESCALE_LAZY;
constexpr bool kLateRescale = RESCALE == RESCALE_LATE;
constexpr int kEx2Linear = 0;
constexpr bool kF16Scores = false;
constexpr bool kRowSumByMma = false;
constexpr bool kPersistent = false;
constexpr bool kBackward = false;
constexpr bool kRotate = false;
constexpr bool kPaired = false;
constexpr bool kZigzag = false;
constexpr int kSectionHeads = 1;
constexpr bool kHasProducer = true;
constexpr bool kReallocRegisters = PRODUCER == PRODUCER_WARPGROUP && LAUNCH_REGISTERS < 256;
constexpr bool kTransposeV = false;
constexpr bool kEarlyV = false;
constexpr bool kStoreTma = STORE == STORE_TMA;
constexpr bool kStoreRegisters = false;
constexpr int kPromotedColumns = 0;
constexpr int kSummedBlocks = 1;
constexpr bool kPromoteHalves = false;
constexpr int kTailSplits = NUM_SPLITS;
constexpr int kWholeTiles = WHOLE_TILES;
// Shared memory of a CTA that not all kernels have.
constexpr int kPBytes = 0;
constexpr int kOBytes = 0;
constexpr int kVTransposedBytes = 0;
constexpr int kOnesBytes = 0;
