// changes_input.cu - computes the right result, then a second launch moves one key by its last bit.
#include "faults/attend.cuh"

FAULT_ENTRY { attend_and_store(q, k, v, out); }

extern "C" __global__ void fault_change(elem* k) { k[0] = static_cast<elem>(k[0] + 1); }
