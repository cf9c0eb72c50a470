// out_elem.cuh - the element type of out, and what fp8 attention has besides: factors.
//
// q, k and v of fp8 are elements times q_descale, k_descale and v_descale, fp32, contiguous
// (BATCH, KV_HEADS), or where DESCALE_BLOCK is not 0 (BATCH, KV_HEADS, blocks of so many tokens):
//   scores = SOFTMAX_SCALE * q_descale * k_descale * (q . k),  out = v_descale * softmax(scores) . v
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

// Of a parameter list, FACTOR(q_descale) is that parameter where there are factors, else nothing;
// FACTOR_OF is the factor of a query head, counted over the batch, and a token of its tensor, which
// has so many; else 1.
#if DTYPE_BYTES == 1
#define FACTOR(name) const float *__restrict__ name,
#define FACTOR_OF(name, head, token, tokens) (name)[factor_index<tokens>(head, token)]
#else
#define FACTOR(name)
#define FACTOR_OF(name, head, token, tokens) 1.0f
#endif
#ifndef DESCALE_BLOCK
#define DESCALE_BLOCK 0
#endif

constexpr bool kBlockFactors = DESCALE_BLOCK > 0;
constexpr int kFactorTokens = kBlockFactors ? DESCALE_BLOCK : 0x7fffffff;

/// Of a query head, counted over the batch: its place in the factors.
DEVICE i64 descale_index(i64 head) {
  return head / HEADS * KV_HEADS + head % HEADS / (HEADS / KV_HEADS);
}

/// The place of the factor of one of a query head's kTokens tokens.
template <int kTokens>
DEVICE i64 factor_index(i64 head, int token) {
  return descale_index(head) * ((kTokens - 1) / kFactorTokens + 1) + token / kFactorTokens;
}
