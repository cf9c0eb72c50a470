// nondeterministic.cu - flips the last bit of a few rows, chosen by the clock.
#include "faults/attend.cuh"

FAULT_ENTRY {
  const Row where = this_row();
  if (where.index >= kRows) return;
  store(out, where, attend(q, k, v, where, visible_keys(where.row)));
  u32 ticks;
  asm volatile("mov.u32 %0, %%clock;" : "=r"(ticks));
  if (where.lane == 0 && (ticks * 2654435761u) >> 28 == 0) out[OutTensor::row(where.index)] ^= 1;
}
