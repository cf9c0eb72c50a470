// exceeds_launch_bounds.cu - is compiled for blocks of 64 threads and launched with 128.
#include "faults/attend.cuh"

extern "C" __global__ void __launch_bounds__(64)
    fault_main(const elem* q, const elem* k, const elem* v, elem* out) {
  attend_and_store(q, k, v, out);
}
