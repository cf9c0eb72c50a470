// begins_early.cu - is launched to begin while the work in front of it still runs, and does not
// wait for it.
#include "faults/attend.cuh"

FAULT_ENTRY {
  const Row where = this_row();
  if (where.index >= kRows) return;
  store(out, where, attend(q, k, v, where, visible_keys(where.row)));
}
