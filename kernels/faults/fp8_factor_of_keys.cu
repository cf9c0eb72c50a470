// fp8_factor_of_keys.cu - K's factor on V.
#include "faults/attend.cuh"

FAULT_FP8_ENTRY { attend_and_store(q, k, v, out, factors_of(q_descale, k_descale, k_descale)); }
