// mma.cuh: Multiplies by mma.sync m16n8k16 (sm_80 on) or, of fp8, m16n8k32 (sm_89 on); ldmatrix
// loads its operands from shared memory.
//
// Which element lane l holds (g = l / 4, t = l % 4; a register has two neighbouring columns, or for
// b two rows):
//   A, 16x16: a[0] (g, 2t)   a[1] (g + 8, 2t)   a[2] (g, 2t + 8)   a[3] (g + 8, 2t + 8)
//   B, 16x8:  b[0] (2t, g)   b[1] (2t + 8, g)
//   C, 16x8:  c[0..1] (g, 2t and 2t + 1)        c[2..3] (g + 8, 2t and 2t + 1)
// So two neighbouring 16x8 tiles of C, packed, are the A operand of a next mma: no shuffle between
// them. Of fp8 k is 32: read pairs of neighbouring columns for the elements of A and B; four tiles
// of C are an A operand with its columns in another order (pack_p in mma_softmax.cuh).
#pragma once

#include "common/ldmatrix.cuh"

#if DTYPE == DTYPE_F16
#define MMA_QK "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
#define MMA_PV MMA_QK
#elif DTYPE == DTYPE_BF16
#define MMA_QK "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"
#define MMA_PV MMA_QK
#elif DTYPE == DTYPE_E4M3
#define MMA_QK "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32"
#define MMA_PV MMA_QK
#else
#define MMA_QK "mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e5m2.f32"
#define MMA_PV "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32"
#endif

#define MMA_(name, text)                                                                   \
  DEVICE void name(float (&c)[4], const u32 (&a)[4], u32 b0, u32 b1) {                     \
    asm volatile(text                                                                      \
                 " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"        \
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])                          \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));          \
  }

/// c += a * b for a 16 x k and b k x 8, where k elements are 32 bytes, and c 16 x 8 in f32. Of fp8
/// problems P is e4m3.
MMA_(mma_qk, MMA_QK)
MMA_(mma_pv, MMA_PV)
