// too_much_shared.cu - is right, but its manifest asks for 1 MiB of shared memory a block.
#include "faults/attend.cuh"

FAULT_ENTRY { attend_and_store(q, k, v, out); }
