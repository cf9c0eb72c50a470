// fp8_saturates.cu - a shift that e4m3 cannot hold: the largest weights saturate.
#define ROUND_WEIGHT(weight) (e4m3_to_float(float_to_e4m3((weight) * 4096.0f)) / 4096.0f)
#include "faults/attend.cuh"

FAULT_FP8_ENTRY { attend_and_store(q, k, v, out, factors_of(q_descale, k_descale, v_descale)); }
