// keeps_old_output.cu - computes a row only where the output looks poisoned, as a cache of results
// would that forgets to look at its inputs.
#include "faults/attend.cuh"

DEVICE bool looks_poisoned(elem value) { return value == 0xffff || value == 0x5a5a; }

FAULT_ENTRY {
  const Row where = this_row();
  if (where.index >= kRows || !looks_poisoned(out[OutTensor::row(where.index)])) return;
  store(out, where, attend(q, k, v, where, visible_keys(where.row)));
}
