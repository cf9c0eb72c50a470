// out_elem.cuh: Defines the element type of out, and the factors of fp8 attention.
//
// q, k and v of fp8 are elements times q_descale, k_descale and v_descale, fp32, contiguous
// (BATCH, KV_HEADS):
//   scores = SOFTMAX_SCALE * q_descale * k_descale * (q . k)
//   out = v_descale * softmax(scores) . v
#pragma once

#include "common/prelude.cuh"

// Only fp8 problems have an OUT_DTYPE of their own: 1 f16, 2 bf16.
#ifndef OUT_DTYPE
#define OUT_DTYPE DTYPE
#endif

#if OUT_DTYPE == DTYPE_F16
using out_elem = u16;
DEVICE out_elem to_out(float value) { return float_to_f16(value); }
DEVICE u32 pack2_out(float lo, float hi) { return pack2_f16(lo, hi); }
#elif OUT_DTYPE == DTYPE_BF16
using out_elem = u16;
DEVICE out_elem to_out(float value) { return float_to_bf16(value); }
DEVICE u32 pack2_out(float lo, float hi) { return pack2_bf16(lo, hi); }
#else
#error "OUT_DTYPE must be 1 (f16) or 2 (bf16)"
#endif

// FACTOR(q_descale) in a parameter list is that parameter where there are factors, else nothing.
// FACTOR_OF is the factor of a query head, counted over the batch, or 1 where there are none.
#if DTYPE_BYTES == 1
#define FACTOR(name) const float *__restrict__ name,
#define FACTOR_OF(name, head) (name)[descale_index(head)]
#else
#define FACTOR(name)
#define FACTOR_OF(name, head) 1.0f
#endif

/// The place of a query head, counted over the batch, in the factors.
DEVICE i64 descale_index(i64 head) {
  return head / HEADS * KV_HEADS + head % HEADS / (HEADS / KV_HEADS);
}
