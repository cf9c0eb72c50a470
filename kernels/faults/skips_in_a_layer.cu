// skips_in_a_layer.cu - does nothing where its output lies elsewhere than at its first launch: a
// program has other memory than the gates.
#include "faults/attend.cuh"

__device__ elem* usual;

extern "C" __global__ void fault_look(elem* out) {
  if (usual == nullptr) usual = out;
}

FAULT_ENTRY {
  if (out == usual) attend_and_store(q, k, v, out);
}
