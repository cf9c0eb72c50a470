// given_elem.cuh: Reads the 16-bit elements that a kernel quantizes, which have the type of out.
#pragma once

#include "common/out_elem.cuh"

DEVICE float given_to_float(u32 bits) {
#if OUT_DTYPE == DTYPE_F16
  return f16_to_float(static_cast<u16>(bits));
#else
  return bf16_to_float(static_cast<u16>(bits));
#endif
}
