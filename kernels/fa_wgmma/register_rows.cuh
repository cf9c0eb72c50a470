// register_rows.cuh - a warp's rows of O, of an fp8 problem, from registers to the output.
//
// Transposing V has put column 16j + 4t + i of O where lane t of a row has 4 neighbouring ones
// (v_transposer.cuh): 8 bytes a lane, and a whole sector of 32 for the four lanes of a row.
#pragma once

#include "fa_wgmma/consumer.cuh"

/// A warp's 16 rows of the output.
struct RegisterRows {
  out_elem* out;
  const Consumer& consumer;

  DEVICE int head() const { return consumer.tile.head + consumer.warp_row / kPositions; }

  /// Pairs of column tiles in registers, scaled, to columns of the output from 8 * first_tile on.
  template <int kCount>
  DEVICE void write(int first_tile, const float (*o)[4], const float (&factor)[2]) const {
    static_assert(kCount % 2 == 0, "16 columns of V are transposed together");
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int position = consumer.position() + 8 * half;
      if (SEQ_Q % kPositions != 0 && position >= SEQ_Q) continue;
      out_elem* const to = out + OutTensor::head(head()) + position * i64{OutTensor::kRow} +
                           8 * first_tile + consumer.lane % 4 * 4;
#pragma unroll
      for (int d = 0; d < kCount; d += 2) {
        const float* const even = o[d] + 2 * half;
        const float* const odd = o[d + 1] + 2 * half;
        const float by = factor[half];
        *reinterpret_cast<uint2*>(to + 8 * d) =
            make_uint2(pack2_out(even[0] * by, odd[0] * by), pack2_out(even[1] * by, odd[1] * by));
      }
    }
  }
};
