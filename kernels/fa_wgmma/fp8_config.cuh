// fp8_config.cuh: States in what fa_wgmma_fp8 and fa_wgmma_fp8_fused differ from the family's
// defaults.
#pragma once

#include "fa_wgmma/family_defaults.cuh"

struct Config : FamilyDefaults {
  static constexpr bool kIntraWgOverlap = INTRA_WG_OVERLAP != INTRA_WG_OVERLAP_OFF;
  static constexpr bool kFencedOverlap = INTRA_WG_OVERLAP == INTRA_WG_OVERLAP_FENCED;
  static constexpr bool kPingpong = PINGPONG != 0;
  static constexpr bool kLazyRescale = RESCALE == RESCALE_LAZY;
  static constexpr int kEx2Linear = EX2_LINEAR;
  static constexpr bool kF16Scores = SCORES == SCORES_F16;
  static constexpr bool kRowSumByMma = ROW_SUM == ROW_SUM_MMA;
  static constexpr bool kPersistent = SCHEDULER == SCHEDULER_STATIC_PERSISTENT;
  static constexpr bool kBackward = KV_ORDER == KV_ORDER_BACKWARD;
  static constexpr bool kRotate = GRID_ORDER == GRID_ORDER_ROTATE;
  static constexpr bool kPaired = GRID_ORDER == GRID_ORDER_PAIRED;
  static constexpr bool kZigzag = GRID_ORDER == GRID_ORDER_ZIGZAG;
  static constexpr int kSectionHeads = SECTION_HEADS;
  static constexpr bool kReallocRegisters = REALLOC_REGISTERS != 0;
  static constexpr int kPromotedColumns = PROMOTED_COLUMNS;
  static constexpr int kSummedBlocks = SUMMED_BLOCKS;
  static constexpr bool kPromoteHalves = PROMOTE == PROMOTE_HALF;
  static constexpr int kVTransposedBytes = V_TRANSPOSED_BYTES;
  // The producer warpgroup transposes V, unless the quantizer has done it.
#if defined(V_TRANSPOSED_BY) && V_TRANSPOSED_BY == V_TRANSPOSED_BY_QUANTIZER
  static constexpr bool kTransposeV = false;
#else
  static constexpr bool kTransposeV = true;
#endif
};
