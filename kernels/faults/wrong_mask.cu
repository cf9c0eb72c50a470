// wrong_mask.cu - sees one key too few.
#include "faults/attend.cuh"

FAULT_ENTRY {
  const Row where = this_row();
  if (where.index < kRows) store(out, where, attend(q, k, v, where, visible_keys(where.row) - 1));
}
