// half_sums.cu - keeps the sums over keys in f16: right to the eye, wrong in the second digit over
// many keys.
#define ROUND_SUM(sum) f16_to_float(float_to_f16(sum))
#include "faults/attend.cuh"

FAULT_ENTRY { attend_and_store(q, k, v, out); }
