// out_of_bounds_read.cu - reads terabytes away from its tensors: an illegal address.
#include "faults/attend.cuh"

FAULT_ENTRY {
  attend_and_store(q, k, v, out);
  const volatile elem* far = k + (static_cast<i64>(1) << 42);
  const elem value = far[this_row().index];
  if (value == 1) out[0] = value;
}
