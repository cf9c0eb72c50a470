// ldmatrix.cuh - 8x8 matrices of 16-bit elements from shared memory to fragments of mma.
#pragma once

#include "common/prelude.cuh"

/// Loads four 8x8 matrices of 16-bit elements; lanes 8i .. 8i + 7 give the addresses of the 16-byte
/// rows of matrix i.
DEVICE void ldmatrix_x4(u32 (&to)[4], u32 address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address));
}

/// The same, each matrix transposed on the way.
DEVICE void ldmatrix_x4_trans(u32 (&to)[4], u32 address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address));
}
