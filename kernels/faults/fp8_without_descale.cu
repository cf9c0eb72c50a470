// fp8_without_descale.cu - takes elements for values.
#include "faults/attend.cuh"

FAULT_FP8_ENTRY { attend_and_store(q, k, v, out); }
