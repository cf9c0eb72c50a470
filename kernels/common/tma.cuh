// tma.cuh: Has what surrounds wgmma on sm_90: TMA loads and stores, mbarriers, clusters, named
// barriers, register reallocation between warpgroups, stmatrix.
#pragma once

#include "common/cp_async.cuh"

/// A CUtensorMap of the driver: a kernel takes it as `const __grid_constant__ TensorMap`.
struct alignas(64) TensorMap {
  u64 words[16];
};

// ---- mbarriers, 8 bytes each; a phase ends when all arrivals and all bytes are in ----

DEVICE void mbarrier_init(u32 barrier, u32 arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

/// Makes this thread's initialised barriers visible to the TMA loads it issues.
DEVICE void mbarrier_init_fence() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

DEVICE void mbarrier_arrive(u32 barrier) {
  asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

/// Arrives, and adds the bytes of TMA loads to come to the phase.
DEVICE void mbarrier_arrive_expect_tx(u32 barrier, u32 bytes) {
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

// ---- TMA ----

/// Where a box begins: column, row, head and batch. What lies outside the tensor arrives as zeros,
/// and counts as bytes.
struct BoxStart {
  int column;
  int row;
  int head;
  int batch;
};

/// Loads one box to shared memory; its bytes count towards the phase of `barrier`.
DEVICE void tma_load(u32 to, const TensorMap& map, const BoxStart& from, u32 barrier) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, "
      "{%3, %4, %5, %6}], [%2];" ::"r"(to),
      "l"(&map), "r"(barrier), "r"(from.column), "r"(from.row), "r"(from.head), "r"(from.batch)
      : "memory");
}

/// Loads kColumns columns, kBoxColumns a box of kBoxBytes; the boxes lie one behind the other.
template <int kBoxBytes, int kColumns, int kBoxColumns>
DEVICE void tma_load_boxes(u32 to, const TensorMap& map, BoxStart from, u32 barrier) {
#pragma unroll
  for (int box = 0; box < ceil_div(kColumns, kBoxColumns); ++box) {
    from.column = kBoxColumns * box;
    tma_load(to + box * kBoxBytes, map, from, barrier);
  }
}

/// Stores one box from shared memory; what lies outside the tensor is left out.
DEVICE void tma_store(const TensorMap& map, const BoxStart& to, u32 from) {
  asm volatile(
      "cp.async.bulk.tensor.4d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4, %5}], [%1];" ::
          "l"(&map),
      "r"(from), "r"(to.column), "r"(to.row), "r"(to.head), "r"(to.batch)
      : "memory");
}

/// Closes a group of this thread's TMA stores.
DEVICE void tma_store_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }

/// Waits until all of this thread's TMA stores have read shared memory.
DEVICE void tma_store_wait() { asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory"); }

/// Waits until they have written their tensors, too.
DEVICE void tma_store_wait_all() {
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

/// Makes this thread's writes to shared memory visible to TMA and wgmma issued after it.
DEVICE void async_proxy_fence() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

/// 16 bytes to device memory in one piece, which the compiler does not make of four registers.
DEVICE void global_store(void* to, uint4 value) {
  asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(value.x), "r"(value.y),
               "r"(value.z), "r"(value.w)
               : "memory");
}

// ---- clusters: CTAs that can reach each other's shared memory ----

/// Arrives at the cluster's barrier; this thread's writes before it are visible after the wait.
DEVICE void cluster_arrive() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}
/// The same, but of the writes only initialised mbarriers are visible (`mbarrier_init_fence`): it
/// waits for nothing.
DEVICE void cluster_arrive_relaxed() {
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}
DEVICE void cluster_wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }

/// The address in the shared memory of the CTA `rank` that corresponds to one of this CTA.
DEVICE u32 cluster_address(u32 address, int rank) {
  u32 there;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(rank));
  return there;
}

/// Stores to the shared memory of a CTA of the cluster; the bytes count towards the phase of
/// `barrier` there. Who has waited for the phase sees them: no fence is needed.
DEVICE void cluster_store_async(u32 address, float4 value, u32 barrier) {
  asm volatile(
      "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [%0], {%1, %2, %3, %4}, "
      "[%5];" ::"r"(address),
      "f"(value.x), "f"(value.y), "f"(value.z), "f"(value.w), "r"(barrier)
      : "memory");
}
DEVICE void cluster_store_async(u32 address, float2 value, u32 barrier) {
  asm volatile(
      "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.f32 [%0], {%1, %2}, "
      "[%3];" ::"r"(address),
      "f"(value.x), "f"(value.y), "r"(barrier)
      : "memory");
}

/// The multiprocessor's clock.
DEVICE u32 clock32() {
  u32 now;
  asm volatile("mov.u32 %0, %%clock;" : "=r"(now)::"memory");
  return now;
}

// ---- plain shared memory by address ----

DEVICE void shared_store(u32 address, float4 value) {
  asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(address), "f"(value.x),
               "f"(value.y), "f"(value.z), "f"(value.w)
               : "memory");
}
DEVICE void shared_store(u32 address, float2 value) {
  asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(address), "f"(value.x), "f"(value.y)
               : "memory");
}

DEVICE void shared_store(u32 address, uint4 value) {
  asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(value.x),
               "r"(value.y), "r"(value.z), "r"(value.w)
               : "memory");
}

DEVICE float4 shared_float4(u32 address) {
  float4 v;
  asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
               : "r"(address)
               : "memory");
  return v;
}
DEVICE float2 shared_float2(u32 address) {
  float2 v;
  asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(v.x), "=f"(v.y) : "r"(address) : "memory");
  return v;
}
DEVICE uint4 shared_uint4(u32 address) {
  uint4 v;
  asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "r"(address)
               : "memory");
  return v;
}

// ---- named barriers of kThreads of a CTA's threads (0 is __syncthreads) ----

template <int kThreads>
DEVICE void named_barrier_sync(int id) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "n"(kThreads) : "memory");
}

/// Arrives without waiting.
template <int kThreads>
DEVICE void named_barrier_arrive(int id) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "n"(kThreads) : "memory");
}

/// Whether `mine` is true for one of the kThreads, on all of them.
template <int kThreads>
DEVICE bool named_barrier_any(int id, bool mine) {
  u32 any;
  asm volatile(
      "{.reg .pred p, q; setp.ne.u32 p, %1, 0; bar.red.or.pred q, %2, %3, p; "
      "selp.u32 %0, 1, 0, q;}"
      : "=r"(any)
      : "r"(mine ? 1 : 0), "r"(id), "n"(kThreads)
      : "memory");
  return any != 0;
}

// ---- setmaxnreg, by every warp of a warpgroup ----

template <int kRegisters>
DEVICE void warpgroup_reg_alloc() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

template <int kRegisters>
DEVICE void warpgroup_reg_dealloc() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

// ---- stmatrix: 8x8 matrices of 16-bit elements, as packed accumulators of mma and wgmma lie ----

/// Lanes 8i .. 8i + 7 give the addresses of the 16-byte rows of matrix i.
DEVICE void stmatrix_x4(u32 address, const u32 (&m)[4]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address),
               "r"(m[0]), "r"(m[1]), "r"(m[2]), "r"(m[3])
               : "memory");
}

DEVICE void stmatrix_x2(u32 address, u32 a, u32 b) {
  asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};" ::"r"(address), "r"(a),
               "r"(b)
               : "memory");
}
