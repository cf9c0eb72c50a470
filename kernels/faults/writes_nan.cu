// writes_nan.cu - turns one element of the last row into a NaN.
#include "faults/attend.cuh"

FAULT_ENTRY {
  const Row where = this_row();
  if (where.index >= kRows) return;
  Result result = attend(q, k, v, where, visible_keys(where.row));
  if (where.index == kRows - 1 && where.lane == 0) result.columns[0] = __int_as_float(0x7fffffff);
  store(out, where, result);
}
