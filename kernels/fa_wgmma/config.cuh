// config.cuh: States in what fa_wgmma differs from the family's defaults.
#pragma once

#include "fa_wgmma/family_defaults.cuh"

struct Config : FamilyDefaults {
  static constexpr bool kIntraWgOverlap = INTRA_WG_OVERLAP != INTRA_WG_OVERLAP_OFF;
  static constexpr bool kFencedOverlap = INTRA_WG_OVERLAP == INTRA_WG_OVERLAP_FENCED;
  static constexpr bool kPingpong = PINGPONG != 0;
  static constexpr int kStagger = STAGGER;
  static constexpr bool kMmaPvIsRs = MMA_PV == MMA_PV_RS;
  static constexpr bool kLazyRescale = RESCALE == RESCALE_LAZY;
  static constexpr bool kLateRescale = RESCALE == RESCALE_LATE;
  static constexpr bool kPersistent = SCHEDULER == SCHEDULER_STATIC_PERSISTENT;
  static constexpr bool kBackward = KV_ORDER == KV_ORDER_BACKWARD;
  static constexpr bool kRotate = GRID_ORDER == GRID_ORDER_ROTATE;
  static constexpr bool kPaired = GRID_ORDER == GRID_ORDER_PAIRED;
  static constexpr bool kZigzag = GRID_ORDER == GRID_ORDER_ZIGZAG;
  static constexpr int kSectionHeads = SECTION_HEADS;
  static constexpr bool kHasProducer = PRODUCER != PRODUCER_NONE;
  static constexpr bool kReallocRegisters =
      PRODUCER == PRODUCER_WARPGROUP && LAUNCH_REGISTERS < 256;
  static constexpr bool kStoreTma = STORE == STORE_TMA;
  static constexpr bool kStoreRegisters = STORE == STORE_REGISTERS;
  static constexpr int kPBytes = P_BYTES;
  static constexpr int kOBytes = O_BYTES;
};
