// out_of_bounds_write_guard.cu - is right, but also writes one element past the end of the output.
#include "faults/attend.cuh"

FAULT_ENTRY {
  attend_and_store(q, k, v, out);
  elem* last_row = out + OutTensor::row(kRows - 1);
  if (blockIdx.x == 0 && threadIdx.x == 0) last_row[HEAD_DIM] = from_float(1.0f);
}
