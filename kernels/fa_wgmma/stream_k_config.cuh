// stream_k_config.cuh: States in what fa_wgmma_stream_k differs from the family's defaults.
#pragma once

#include "fa_wgmma/family_defaults.cuh"

struct Config : FamilyDefaults {
  static constexpr bool kIntraWgOverlap = INTRA_WG_OVERLAP != INTRA_WG_OVERLAP_OFF;
  static constexpr bool kFencedOverlap = INTRA_WG_OVERLAP == INTRA_WG_OVERLAP_FENCED;
  static constexpr bool kPingpong = PINGPONG != 0;
  static constexpr bool kLazyRescale = RESCALE == RESCALE_LAZY;
  static constexpr bool kLateRescale = RESCALE == RESCALE_LATE;
  static constexpr bool kReallocRegisters =
      PRODUCER == PRODUCER_WARPGROUP && LAUNCH_REGISTERS < 256;
  static constexpr bool kStoreTma = STORE == STORE_TMA;
  static constexpr int kTailSplits = NUM_SPLITS;
  static constexpr int kWholeTiles = WHOLE_TILES;
};
