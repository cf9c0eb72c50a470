// output_rows.cuh: Writes a warp's rows of O to the output, through shared memory in whole rows
// unless the config says otherwise.
//
// Rows in shared memory lie as TMA lays them out: boxes of 64 columns, 128-byte swizzle.
#pragma once

#include "fa_wgmma/register_rows.cuh"

/// A warp's 16 rows of the output.
struct OutputRows {
  SharedStorage storage;
  const TensorMap& map;
  elem* out;
  const Consumer& consumer;

  DEVICE int position() const { return consumer.tile.row + consumer.warp_row % kPositions; }
  DEVICE int head() const { return consumer.tile.head + consumer.warp_row / kPositions; }
  DEVICE int rows_left() const { return SEQ_Q - position(); }
  DEVICE elem* first() const {
    return out + OutTensor::head(head()) + position() * i64{OutTensor::kRow};
  }

  /// Column tiles in registers, scaled, to those of the output from first_tile on.
  template <int kCount>
  DEVICE void write(int first_tile, const float (*o)[4], const float (&factor)[2]) const {
    if constexpr (kStoreRegisters) {
      return RegisterRows{out, consumer}.write<kCount>(first_tile, o, factor);
    }
    before_overwrite();
    u32 pairs[2][2];
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      pairs[i % 2][0] = pack2(o[i][0] * factor[0], o[i][1] * factor[0]);
      pairs[i % 2][1] = pack2(o[i][2] * factor[1], o[i][3] * factor[1]);
      if (i % 2 == 1) {
        const u32 four[4] = {pairs[0][0], pairs[0][1], pairs[1][0], pairs[1][1]};
        stmatrix_x4(smem_address(first_tile + i - 1), four);
      } else if (i + 1 == kCount) {
        stmatrix_x2(smem_address(first_tile + i), pairs[0][0], pairs[0][1]);
      }
    }
    store<kCount>(first_tile);
  }

 private:
  /// Where a lane puts (stmatrix) column tile d of its row; lanes 16 to 31 address the tile after.
  DEVICE u32 smem_address(int d) const {
    const int row = consumer.warp_row + consumer.lane % 16;
    const u32 base = storage.o() + row * 128 + ((consumer.lane / 16) ^ (row & 7)) * 16;
    return (base ^ (d % 8 * 16)) + d / 8 * (BLOCK_M * 128);
  }
  /// Persistent: before O of the work tile before is overwritten.
  DEVICE void before_overwrite() const {
    if (kPersistent && kStoreTma) {
      if (consumer.lane == 0) tma_store_wait();
      __syncwarp();
    }
  }
  /// Writes kCount column tiles from the first one on, which are in shared memory.
  template <int kCount>
  DEVICE void store(int first_tile) const {
    if (kStoreTma) return store_boxes<kCount>(first_tile);
    __syncwarp();
    elem* to = first();
    const int rows = rows_left();
#pragma unroll
    for (int i = 0; i < 16 * kCount; i += 32) {
      if (16 * kCount % 32 != 0 && i + consumer.lane >= 16 * kCount) break;
      const int row = (i + consumer.lane) / kCount;
      const int d = first_tile + (i + consumer.lane) % kCount;
      const int in_block = consumer.warp_row + row;
      const u32 from = storage.o() + d / 8 * (BLOCK_M * 128) + in_block * 128 +
                       ((d % 8) ^ (in_block & 7)) * 16;
      const uint4 values = shared_uint4(from);
      if (SEQ_Q % kPositions == 0 || row < rows) {
        global_store(to + row * OutTensor::kRow + d * 8, values);
      }
    }
  }

  /// A lane stores the warp's rows, box by box. Splits store whole boxes or none.
  template <int kCount>
  DEVICE void store_boxes(int first_tile) const {
    async_proxy_fence();
    __syncwarp();
    if (consumer.lane == 0) {
#pragma unroll
      for (int d = 0; d < kCount; d += 8) {
        const int box = (first_tile + d) / 8;
        const u32 from = storage.o() + box * (BLOCK_M * 128) + consumer.warp_row * 128;
        tma_store(map, {64 * box, position(), head() % HEADS, head() / HEADS}, from);
      }
      tma_store_commit();
    }
    __syncwarp();
  }
};
