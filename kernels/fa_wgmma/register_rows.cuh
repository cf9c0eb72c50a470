// register_rows.cuh: Writes a warp's rows of O from registers to the output.
//
// A lane stores four neighbouring columns, and the four lanes of a row a whole sector of 32 bytes.
// Of fp8 they are the lane's own: transposing V has put column 16j + 4t + i of O where lane t of a
// row has them (v_transposer.cuh). Of 16 bits it has two columns of each 8-column tile, and pairs
// of lanes exchange: the even one gets four of the first tile, the odd one of the second.
#pragma once

#include "fa_wgmma/consumer.cuh"

/// A warp's 16 rows of the output.
struct RegisterRows {
  out_elem* out;
  const Consumer& consumer;

  DEVICE int head() const { return consumer.tile.head + consumer.warp_row / kPositions; }

  /// Column tiles in registers, scaled, to columns of the output from 8 * first_tile on.
  template <int kCount>
  DEVICE void write(int first_tile, const float (*o)[4], const float (&factor)[2]) const {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int position = consumer.position() + 8 * half;
      const bool exists = SEQ_Q % kPositions == 0 || position < SEQ_Q;
      if (kVIsKMajor && !exists) continue;
      out_elem* const to = out + OutTensor::head(head()) + position * i64{OutTensor::kRow} +
                           8 * first_tile + column();
#pragma unroll
      for (int d = 0; d + 1 < kCount; d += 2) {
        const uint2 four = columns(o[d] + 2 * half, o[d + 1] + 2 * half, factor[half]);
        if (exists) *reinterpret_cast<uint2*>(to + 8 * d) = four;
      }
      if constexpr (kCount % 2 == 1) {
        const float* const last = o[kCount - 1] + 2 * half;
        const u32 two = pack2_out(last[0] * factor[half], last[1] * factor[half]);
        const int at = 8 * (kCount - 1) + consumer.lane % 4 * 2 - column();
        if (exists) *reinterpret_cast<u32*>(to + at) = two;
      }
    }
  }

 private:
  /// The lane's first one of sixteen.
  DEVICE int column() const {
    const int lane = consumer.lane % 4;
    return kVIsKMajor ? lane * 4 : lane / 2 * 4 + lane % 2 * 8;
  }
  /// Four columns of a row, from its elements of two tiles.
  DEVICE uint2 columns(const float* even, const float* odd, float by) const {
    if constexpr (kVIsKMajor) {
      return make_uint2(pack2_out(even[0] * by, odd[0] * by), pack2_out(even[1] * by, odd[1] * by));
    }
    const u32 first = pack2_out(even[0] * by, even[1] * by);
    const u32 second = pack2_out(odd[0] * by, odd[1] * by);
    const bool is_odd = consumer.lane % 2 == 1;
    const u32 theirs = __shfl_xor_sync(0xffffffffu, is_odd ? first : second, 1);
    return is_odd ? make_uint2(theirs, second) : make_uint2(first, theirs);
  }
};
