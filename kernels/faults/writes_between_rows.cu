// writes_between_rows.cu - is right, but also writes one element between the first row of the output
// and the next one.
#include "faults/attend.cuh"

FAULT_ENTRY {
  attend_and_store(q, k, v, out);
  if (blockIdx.x == 0 && threadIdx.x == 0) out[HEAD_DIM] = from_float(1.0f);
}
