// fp8_zeros.cu - an output that absolute bounds let pass.
#include "faults/attend.cuh"

FAULT_FP8_ENTRY {
  const Row where = this_row();
  if (where.index < kRows) store(out, where, {});
}
