// too_many_threads.cu - is right, but its manifest asks for blocks of 2048 threads.
#include "faults/attend.cuh"

FAULT_ENTRY { attend_and_store(q, k, v, out); }
