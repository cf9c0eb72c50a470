// config.cuh - the parameters of fa_wgmma to what the headers of the family ask for.
#pragma once

#include "common/prelude.cuh"

constexpr bool kInterleaved = false;
constexpr bool kIntraWgOverlap = INTRA_WG_OVERLAP != INTRA_WG_OVERLAP_OFF;
constexpr bool kFencedOverlap = INTRA_WG_OVERLAP == INTRA_WG_OVERLAP_FENCED;
constexpr bool kPingpong = PINGPONG != 0;
constexpr int kStagger = STAGGER;
constexpr bool kMmaPvIsRs = MMA_PV == MMA_PV_RS;
constexpr bool kLazyRescale = RESCALE == RESCALE_LAZY;
constexpr bool kLateRescale = RESCALE == RESCALE_LATE;
constexpr int kEx2Linear = 0;
constexpr bool kF16Scores = false;
constexpr bool kRowSumByMma = false;
constexpr bool kPersistent = SCHEDULER == SCHEDULER_STATIC_PERSISTENT;
constexpr bool kBackward = KV_ORDER == KV_ORDER_BACKWARD;
constexpr bool kRotate = GRID_ORDER == GRID_ORDER_ROTATE;
constexpr bool kPaired = GRID_ORDER == GRID_ORDER_PAIRED;
constexpr bool kZigzag = GRID_ORDER == GRID_ORDER_ZIGZAG;
constexpr int kSectionHeads = SECTION_HEADS;
constexpr bool kHasProducer = PRODUCER != PRODUCER_NONE;
constexpr bool kReallocRegisters = PRODUCER == PRODUCER_WARPGROUP && LAUNCH_REGISTERS < 256;
constexpr bool kTransposeV = false;
constexpr bool kEarlyV = false;
constexpr bool kStoreTma = STORE == STORE_TMA;
constexpr bool kStoreRegisters = STORE == STORE_REGISTERS;
constexpr int kPromotedColumns = 0;
constexpr int kSummedBlocks = 1;
constexpr bool kPromoteHalves = false;
constexpr int kTailSplits = 1;
constexpr int kWholeTiles = WORK_TILES;
// Shared memory of a CTA that not all kernels have.
constexpr int kPBytes = P_BYTES;
constexpr int kOBytes = O_BYTES;
constexpr int kVTransposedBytes = 0;
constexpr int kOnesBytes = 0;
