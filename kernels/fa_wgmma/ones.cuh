// ones.cuh: Writes a value of V that is 1 for every key, by which PV adds row_sum.
#pragma once

#include "common/tma.cuh"
#include "fa_wgmma/shared_storage.cuh"

/// What row_sum is summed times. Of fp8 the mantissa of 448, and of 57344: the value to which the
/// quantizer brings a constant V, whose PV then loses the same as row_sum in the tensor cores'
/// sums.
constexpr float kOne = kIs16Bit ? 1.0f : 1.75f;

/// By a CTA's last 128 threads, before a barrier of it: 16 keys whose V is 1; of fp8, where each
/// box of V^T has 8 more rows for it, all keys.
DEVICE void write_ones(const SharedStorage& storage) {
  const int thread = static_cast<int>(threadIdx.x) - (kThreads - 128);
  if (thread < 0) return;
#if DTYPE == DTYPE_F16 || DTYPE == DTYPE_BF16
  const u32 ones = pack2(1.0f, 1.0f);
  shared_store(storage.ones() + 16 * thread, make_uint4(ones, ones, ones, ones));
#else
  const u32 ones = 0x01010101u * from_float(kOne);
  constexpr int kBoxes = ceil_div(BLOCK_N, kKeyBoxBytes);
  constexpr int kEach = 8 * kKeyBoxBytes / 16;  // threads of a box's 8 rows
#pragma unroll
  for (int i = thread; i < kStages * kBoxes * kEach; i += 128) {
    const int box = i / kEach;
    const int row = box % kBoxes * kVRows + HEAD_DIM;
    const u32 to = storage.pv_operand(box / kBoxes) + row * kKeyBoxBytes + i % kEach * 16;
    shared_store(to, make_uint4(ones, ones, ones, ones));
  }
#endif
  async_proxy_fence();
}
