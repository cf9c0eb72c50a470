// memory.cuh - where things lie in a block's shared memory.
//
//   Q | K ring | V ring | weights | finished rows | ones | pieces and statistics of parts | barriers
//
// A tile of R rows is ceil(HEAD_DIM / 64) boxes of R x 128 bytes. Finished rows take Q's place, and
// pieces that of the rings, where nobody else still needs them.
#pragma once

#include "fa_wgmma/shape.cuh"

/// Addresses in shared memory.
struct Memory {
  static constexpr int kBoxes = ceil_div(HEAD_DIM, 64);
  static constexpr int kQBytes = kBoxes * BLOCK_M * 128;
  static constexpr int kTileBytes = kBoxes * BLOCK_N * 128;
  static constexpr int kRingBytes = 2 * kStages * kTileBytes;
  static constexpr int kWeightBytes = kShared ? ceil_div(BLOCK_N, 64) * 64 * 128 : 0;
  // Q's place has the next item's already.
  static constexpr int kRowBytes = kPersistent ? kQBytes : 0;
  static constexpr int kPieceBytes = (kParts - 1) * KEY_PARTS * BLOCK_M * HEAD_DIM / kParts * 4;
  static constexpr int kOneBytes = kWholeSums ? 16 * 128 : 0;  // a box of 16 keys
  static constexpr int kStatBytes = kParts > 1 ? kParts* BLOCK_M * 8 : 0;
  static constexpr bool kOwnPieces = CLUSTER > 1;  // a neighbour may be ahead of this block

  static constexpr int kRing = kQBytes;
  static constexpr int kPieces = kOwnPieces ? kRing + kRingBytes : kRing;
  static constexpr int kWeights =
      kRing + (kOwnPieces ? kRingBytes + kPieceBytes : max_of(kRingBytes, kPieceBytes));
  static constexpr int kRows = kPersistent ? kWeights + kConsumers * kWeightBytes : 0;
  static constexpr int kOnes = kWeights + kConsumers * kWeightBytes + kRowBytes;
  static constexpr int kStats = kOnes + kOneBytes;
  static constexpr int kBarriers = kStats + kStatBytes;
  static constexpr int kBytes = kBarriers + 8 * (1 + kRowBlocks + 4 * kStages);
  u32 base;

  DEVICE u32 q() const { return base; }
  DEVICE u32 k(int slot) const { return base + kRing + slot * kTileBytes; }
  DEVICE u32 v(int slot) const { return k(kStages + slot); }
  DEVICE u32 weights(int warpgroup) const { return base + kWeights + warpgroup * kWeightBytes; }
  DEVICE u32 rows() const { return base + kRows; }
  DEVICE u32 pieces() const { return base + kPieces; }
  DEVICE u32 ones() const { return base + kOnes; }
  DEVICE u32 stats() const { return base + kStats; }

  DEVICE u32 barrier(int index) const { return base + kBarriers + 8 * index; }
  DEVICE u32 q_here(int row_block) const { return barrier(row_block); }
  DEVICE u32 q_free() const { return barrier(kRowBlocks); }
  DEVICE u32 k_here(int slot) const { return barrier(kRowBlocks + 1 + slot); }
  DEVICE u32 v_here(int slot) const { return barrier(kRowBlocks + 1 + kStages + slot); }
  DEVICE u32 k_free(int slot) const { return barrier(kRowBlocks + 1 + 2 * kStages + slot); }
  DEVICE u32 v_free(int slot) const { return barrier(kRowBlocks + 1 + 3 * kStages + slot); }
};
