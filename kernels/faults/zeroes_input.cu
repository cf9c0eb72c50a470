// zeroes_input.cu - computes the right result, then a second launch makes the queries zero, which
// would make the next result easy.
#include "faults/attend.cuh"

FAULT_ENTRY { attend_and_store(q, k, v, out); }

extern "C" __global__ void fault_zero(elem* q) {
  const i64 element = static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (element < kRows * HEAD_DIM) q[QTensor::row(element / HEAD_DIM) + element % HEAD_DIM] = 0;
}
