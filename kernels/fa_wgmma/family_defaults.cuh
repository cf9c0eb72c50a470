// family_defaults.cuh: Says what the kernels of the family can differ in, and what most of them
// have.
#pragma once

#include "common/prelude.cuh"

/// A kernel's config header derives its Config from this and states what differs; traits.cuh gives
/// the members their names.
struct FamilyDefaults {
  // ---- the mainloop ----

  /// QK^T, softmax and PV of a KV block pass in small steps (interleaved_mainloop.cuh).
  static constexpr bool kInterleaved = false;
  /// QK^T of a KV block is in flight together with PV of the one before.
  static constexpr bool kIntraWgOverlap = false;
  /// A wait for PV stays behind the exponentials.
  static constexpr bool kFencedOverlap = false;
  /// Warpgroups of different rows issue their wgmmas in turn.
  static constexpr bool kPingpong = false;
  /// Clocks between the beginnings of neighbouring warpgroups.
  static constexpr int kStagger = 0;
  /// P is an A operand in registers, not in shared memory.
  static constexpr bool kMmaPvIsRs = true;

  // ---- softmax ----

  /// O is rescaled only when row_max rises by a threshold.
  static constexpr bool kLazyRescale = false;
  /// P is computed by the old row_max first, and again where it comes out too large.
  static constexpr bool kLateRescale = false;
  /// Of 16 exponentials, so many are linear between powers of two.
  static constexpr int kEx2Linear = 0;
  /// wgmma leaves S in f16.
  static constexpr bool kF16Scores = false;
  /// PV by a column of ones sums rows of P.
  static constexpr bool kRowSumByMma = false;

  // ---- work tiles ----

  /// A CTA takes work tiles one after another.
  static constexpr bool kPersistent = false;
  /// KV blocks come last to first.
  static constexpr bool kBackward = false;
  /// The order of work tiles (tile_scheduler.cuh).
  static constexpr bool kRotate = false;
  static constexpr bool kPaired = false;
  static constexpr bool kZigzag = false;
  static constexpr int kSectionHeads = 1;
  /// CTAs that share each work tile behind the first kWholeTiles.
  static constexpr int kTailSplits = 1;
  static constexpr int kWholeTiles = WORK_TILES;

  // ---- loads and stores ----

  /// A producer warp loads; otherwise a consumer fills the stages once.
  static constexpr bool kHasProducer = true;
  /// The producer warpgroup gives registers to the consumers.
  static constexpr bool kReallocRegisters = false;
  /// The producer warpgroup transposes V.
  static constexpr bool kTransposeV = false;
  /// All loads are issued before V arrives.
  static constexpr bool kEarlyV = false;
  /// O is stored by TMA, or straight from registers; else in whole rows from shared memory.
  static constexpr bool kStoreTma = false;
  static constexpr bool kStoreRegisters = false;

  // ---- promotion of fp8's PV (promotion.cuh) ----

  /// Columns of PV that are added to O together; 0: PV is summed in O.
  static constexpr int kPromotedColumns = 0;
  /// KV blocks whose PV is summed before.
  static constexpr int kSummedBlocks = 1;
  /// Half of a KV block's keys at a time.
  static constexpr bool kPromoteHalves = false;

  // ---- shared memory of a CTA that not all kernels have ----

  static constexpr int kPBytes = 0;
  static constexpr int kOBytes = 0;
  static constexpr int kVTransposedBytes = 0;
  static constexpr int kOnesBytes = 0;
};
