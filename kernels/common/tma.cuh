// tma.cuh - what surrounds wgmma on sm_90: tensor copies into shared memory, barriers that count
// their bytes, barriers among some of a block's warps, registers moved between warpgroups.
#pragma once

#include "common/cp_async.cuh"

/// A CUtensorMap of the driver: a kernel takes it as `const __grid_constant__ TensorMap`.
struct alignas(64) TensorMap {
  u64 words[16];
};

// ---- mbarriers: 8 bytes of shared memory; a phase ends when all arrivals and all bytes are in
// ----

DEVICE void mbarrier_init(u32 barrier, u32 arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

/// Makes this thread's initialised barriers known to the copies it starts.
DEVICE void mbarrier_init_fence() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

DEVICE void mbarrier_arrive(u32 barrier) {
  asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

/// Arrives, and adds bytes that copies will bring to the phase.
DEVICE void mbarrier_expect(u32 barrier, u32 bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}

/// Waits for the end of a phase; phases have parity 0, 1, 0, ...
DEVICE void mbarrier_wait(u32 barrier, u32 parity) {
  asm volatile(
      "{.reg .pred p; again: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @p bra done; "
      "bra again; done: }" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

// ---- tensor copies ----

/// Where a box begins: column, row, head and batch. What lies outside the tensor arrives as zeros,
/// and counts as bytes.
struct BoxStart {
  int column;
  int row;
  int head;
  int batch;
};

/// Copies one box to shared memory; its bytes count towards the phase of `barrier`.
DEVICE void tensor_copy(u32 to, const TensorMap& map, const BoxStart& from, u32 barrier) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, "
      "{%3, %4, %5, %6}], [%2];" ::"r"(to),
      "l"(&map), "r"(barrier), "r"(from.column), "r"(from.row), "r"(from.head), "r"(from.batch)
      : "memory");
}

/// Copies kColumns columns of kRows rows, 64 columns a box, and expects their bytes.
template <int kRows, int kColumns>
DEVICE void tensor_copy_tile(u32 to, const TensorMap& map, BoxStart from, u32 barrier) {
  constexpr int kBoxes = ceil_div(kColumns, 64);
  mbarrier_expect(barrier, kBoxes * kRows * 128);
#pragma unroll
  for (int box = 0; box < kBoxes; ++box) {
    from.column = 64 * box;
    tensor_copy(to + box * kRows * 128, map, from, barrier);
  }
}

// ---- barriers among kThreads of a block's threads, by number (0 is __syncthreads) ----

template <int kThreads>
DEVICE void named_sync(int id) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "n"(kThreads) : "memory");
}

/// Counts towards the barrier without waiting.
template <int kThreads>
DEVICE void named_arrive(int id) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "n"(kThreads) : "memory");
}

// ---- registers of a warpgroup; every warp of it must ask ----

template <int kRegisters>
DEVICE void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

template <int kRegisters>
DEVICE void give_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

// ---- stmatrix: 8x8 matrices of 16-bit elements, laid out as packed sums of mma and wgmma ----

/// Lanes 8i .. 8i + 7 give the addresses of the 16-byte rows of matrix i.
DEVICE void stmatrix_x4(u32 address, u32 a, u32 b, u32 c, u32 d) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address),
               "r"(a), "r"(b), "r"(c), "r"(d)
               : "memory");
}

DEVICE void stmatrix_x2(u32 address, u32 a, u32 b) {
  asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};" ::"r"(address), "r"(a),
               "r"(b)
               : "memory");
}
