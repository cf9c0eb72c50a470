// mma.cuh - mma.sync m16n8k16 (sm_80 on); ldmatrix loads its operands from shared memory.
//
// Which element lane l holds (g = l / 4, t = l % 4; a register has two neighbouring columns, or for
// b two rows):
//   A, 16x16: a[0] (g, 2t)   a[1] (g + 8, 2t)   a[2] (g, 2t + 8)   a[3] (g + 8, 2t + 8)
//   B, 16x8:  b[0] (2t, g)   b[1] (2t + 8, g)
//   C, 16x8:  c[0..1] (g, 2t and 2t + 1)        c[2..3] (g + 8, 2t and 2t + 1)
// So two neighbouring 16x8 tiles of C, packed, are the A operand of a next mma: no shuffle between
// them.
#pragma once

#include "common/ldmatrix.cuh"

#if !(DTYPE == DTYPE_F16 || DTYPE == DTYPE_BF16)
#error "mma.cuh multiplies f16 and bf16"
#endif

/// c += a * b for a 16x16, b 16x8 of DTYPE and c 16x8 in f32.
DEVICE void mma_16x8x16(float (&c)[4], const u32 (&a)[4], u32 b0, u32 b1) {
#if DTYPE == DTYPE_F16
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, "
      "%9}, "
      "{%0, %1, %2, %3};"
#else
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, "
      "{%0, %1, %2, %3};"
#endif
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
