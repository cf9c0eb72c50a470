// reads_between_rows.cu - multiplies what lies between the first row of the values and the next one
// by zero instead of not reading it.
#include "faults/attend.cuh"

FAULT_ENTRY {
  const Row where = this_row();
  if (where.index >= kRows) return;
  Result result = attend(q, k, v, where, visible_keys(where.row));
  if (where.lane == 0) result.columns[0] += 0.0f * to_float(v[HEAD_DIM]);
  store(out, where, result);
}
