// cp_async.cuh: Copies 16 bytes at a time from global to shared memory asynchronously (sm_80 and
// up), counted in groups.
#pragma once

#include "common/prelude.cuh"

/// A pointer into shared memory as the 32-bit address that ldmatrix and cp.async take.
DEVICE u32 shared_address(const void* pointer) {
  return static_cast<u32>(__cvta_generic_to_shared(pointer));
}

/// Copies 16 bytes past L1 (K and V are read once by a block, and shared by others through L2).
DEVICE void cp_async_16(u32 to, const void* from) {
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(to), "l"(from));
}

/// The same when `inside`; otherwise writes 16 zero bytes and reads nothing: `from` may then point
/// past its tensor.
DEVICE void cp_async_16_or_zero(u32 to, const void* from, bool inside) {
  const u32 bytes = inside ? 16u : 0u;
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(to), "l"(from),
               "r"(bytes));
}

/// Copies kBytes, 4, 8 or 16. The first `given` of them come from memory, and the others are zeros;
/// `given` may be less than 0 or more than kBytes.
template <int kBytes>
DEVICE void cp_async(u32 to, const void* from, int given) {
  const u32 bytes = given < 0 ? 0 : given < kBytes ? given : kBytes;
  if constexpr (kBytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes));
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(to), "l"(from), "n"(kBytes),
                 "r"(bytes));
  }
}

/// Closes this thread's group of copies; a group may be empty, which keeps the count of groups
/// uniform.
DEVICE void cp_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }

/// Waits until at most kPending of this thread's latest groups are under way. Other threads' copies
/// need a barrier.
template <int kPending>
DEVICE void cp_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}
