// score_rows.cuh: Finds rows of S and P in device memory, between a library's GEMM and a kernel.
//
// Row r of query head h starts at element (h * SEQ_Q + r) * kKeyPitch. The pitch is SEQ_KV rounded
// up to 8 elements, so that every row and every octet of keys is aligned to 16 bytes; what lies
// between SEQ_KV and the pitch means nothing and may be NaN.
#pragma once

#include "common/prelude.cuh"
#include "common/problem.cuh"

constexpr int kKeyPitch = ceil_div(SEQ_KV, 8) * 8;
/// P in memory is multiplied by it, and PV by its inverse: P of one among many thousand keys would
/// otherwise be a subnormal f16.
constexpr float kPScale = 1024.0f;

/// Eight elements of DTYPE, the first in the lowest bits.
DEVICE uint4 pack_octet(const float (&values)[8]) {
  return make_uint4(pack2(values[0], values[1]), pack2(values[2], values[3]),
                    pack2(values[4], values[5]), pack2(values[6], values[7]));
}

DEVICE void unpack_octet(float (&values)[8], uint4 octet) {
  unpack2(octet.x, values[0], values[1]);
  unpack2(octet.y, values[2], values[3]);
  unpack2(octet.z, values[4], values[5]);
  unpack2(octet.w, values[6], values[7]);
}

/// A score as the library left it; eight of them take one 16-byte access or two.
template <bool kWide>
struct ScoreType;
template <>
struct ScoreType<false> {
  using type = elem;
  struct Octet {
    uint4 bits;
    DEVICE void load(const elem* from) { bits = *reinterpret_cast<const uint4*>(from); }
    DEVICE void unpack(float (&values)[8]) const { unpack_octet(values, bits); }
  };
};
template <>
struct ScoreType<true> {
  using type = float;
  struct Octet {
    float4 low, high;
    DEVICE void load(const float* from) {
      low = *reinterpret_cast<const float4*>(from);
      high = *reinterpret_cast<const float4*>(from + 4);
    }
    DEVICE void unpack(float (&values)[8]) const {
      values[0] = low.x, values[1] = low.y, values[2] = low.z, values[3] = low.w;
      values[4] = high.x, values[5] = high.y, values[6] = high.z, values[7] = high.w;
    }
  };
};
