// copy.cuh: Copies rows of q, k or v to shared memory; rows past the end become zeros and are not
// read.
#pragma once

#include "common/prelude.cuh"

// cp.async moves 4, 8 or 16 bytes without registers from sm_80 on; below, and for 2 bytes, a load
// and a store do.
#if __CUDA_ARCH__ >= 800
#define HAS_ASYNC_COPY 1
#else
#define HAS_ASYNC_COPY 0
#endif

DEVICE u32 shared_address(const void* pointer) {
  return static_cast<u32>(__cvta_generic_to_shared(pointer));
}

template <int kBytes>
struct Word;
template <>
struct Word<2> {
  using type = u16;
};
template <>
struct Word<4> {
  using type = u32;
};
template <>
struct Word<8> {
  using type = uint2;
};
template <>
struct Word<16> {
  using type = uint4;
};

/// Copies kBytes to shared memory, or writes zeros there when `valid` is false; `source` is then
/// not read.
template <int kBytes>
DEVICE void copy_to_shared(void* target, const void* source, bool valid) {
#if HAS_ASYNC_COPY
  if constexpr (kBytes >= 4) {
    const int bytes_read = valid ? kBytes : 0;
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(shared_address(target)),
                 "l"(source), "n"(kBytes), "r"(bytes_read)
                 : "memory");
    return;
  }
#endif
  using T = typename Word<kBytes>::type;
  T word{};
  if (valid) word = *static_cast<const T*>(source);
  *static_cast<T*>(target) = word;
}

/// Closes a group of copies.
DEVICE void copy_commit() {
#if HAS_ASYNC_COPY
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

/// Waits until at most kPending groups of this thread are under way; a barrier must follow for the
/// other threads' copies.
template <int kPending>
DEVICE void copy_wait() {
#if HAS_ASYNC_COPY
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
#endif
}

/// kThreads threads copy kRows rows of kCols elements, kVec elements at a time, from rows
/// kSourcePitch to rows kPitch elements apart.
template <int kRows, int kCols, auto kSourcePitch, int kPitch, int kVec, int kThreads>
DEVICE void copy_rows(elem* target, const elem* source, i32 rows_valid) {
  static_assert(kCols % kVec == 0 && kPitch % kVec == 0, "rows split into whole vectors");
  constexpr int kPerRow = kCols / kVec;
  constexpr int kTotal = kRows * kPerRow;
  constexpr int kBytes = static_cast<int>(sizeof(elem)) * kVec;
#pragma unroll 4
  for (int index = threadIdx.x; index < kTotal; index += kThreads) {
    const int row = index / kPerRow;
    const int col = (index % kPerRow) * kVec;
    const bool valid = row < rows_valid;
    const elem* from = source + (valid ? static_cast<i64>(row) * kSourcePitch + col : 0);
    copy_to_shared<kBytes>(target + row * kPitch + col, from, valid);
  }
}
