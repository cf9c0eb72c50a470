// fp8_interleaved_config.cuh: States in what fa_wgmma_fp8_interleaved differs from the family's
// defaults.
#pragma once

#include "fa_wgmma/family_defaults.cuh"

struct Config : FamilyDefaults {
  static constexpr bool kInterleaved = true;
  static constexpr bool kIntraWgOverlap = true;
  static constexpr int kEx2Linear = EX2_LINEAR;
  static constexpr bool kRowSumByMma = ROW_SUM == ROW_SUM_MMA;
  static constexpr bool kZigzag = GRID_ORDER == GRID_ORDER_ZIGZAG;
  static constexpr int kSectionHeads = SECTION_HEADS;
  static constexpr bool kReallocRegisters = REALLOC_REGISTERS != 0;
  static constexpr bool kTransposeV = true;
  static constexpr bool kEarlyV = FIRST_LOADS == FIRST_LOADS_QKV;
  static constexpr int kPromotedColumns = PROMOTE == PROMOTE_NEVER ? 0 : HEAD_DIM;
  static constexpr int kSummedBlocks = PROMOTE == PROMOTE_PAIR ? 2 : 1;
  static constexpr int kVTransposedBytes = V_TRANSPOSED_BYTES;
};
