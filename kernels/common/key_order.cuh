// key_order.cuh: Says which key of a tile stands at a place in shared memory.
//
// A GEMM over keys does not depend on their order as long as both operands have the same one, so
// the order is free to suit how S or P crosses device memory.
#pragma once

#include "common/prelude.cuh"

/// As in the tensor.
struct InOrder {
  __host__ __device__ static constexpr int key(int place) { return place; }
};

/// Each lane gets 8 neighbouring keys of a row: one 16-byte access to S or P in memory.
///
/// Of every 8-column tile of an accumulator (or of an A operand), lane t = lane % 4 of a row has
/// columns 2t and 2t + 1 (mma.cuh). Put key 8t + 2n + j of every 32 at place 8n + 2t + j, for n =
/// 0..3 and j = 0..1: the lane's elements of tiles n = 0..3 are then keys 8t .. 8t + 7. Bits 1-2
/// and 3-4 change places; as bits move one by one, the keys of places that differ in the same bits
/// differ by the same constant.
struct InOctets {
  __host__ __device__ static constexpr int key(int place) {
    return (place & ~30) | ((place >> 2) & 6) | ((place << 2) & 24);
  }
};
static_assert(InOctets::key(8 * 3 + 2 * 1 + 1) == 8 * 1 + 2 * 3 + 1, "n 3, t 1, j 1");
static_assert(InOctets::key(InOctets::key(22)) == 22, "its own inverse");
