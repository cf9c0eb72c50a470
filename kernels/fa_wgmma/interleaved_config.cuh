// interleaved_config.cuh: States in what fa_wgmma_interleaved differs from the family's defaults.
#pragma once

#include "fa_wgmma/family_defaults.cuh"

struct Config : FamilyDefaults {
  static constexpr bool kInterleaved = true;
  static constexpr bool kIntraWgOverlap = true;
  static constexpr bool kRowSumByMma = ROW_SUM == ROW_SUM_MMA;
  static constexpr bool kZigzag = GRID_ORDER == GRID_ORDER_ZIGZAG;
  static constexpr int kSectionHeads = SECTION_HEADS;
  static constexpr bool kHasProducer = PRODUCER != PRODUCER_NONE;
  static constexpr bool kReallocRegisters =
      PRODUCER == PRODUCER_WARPGROUP && LAUNCH_REGISTERS < 256;
  static constexpr bool kStoreTma = STORE == STORE_TMA;
  static constexpr int kOnesBytes = ONES_BYTES;
};
