// writes_past_lse.cu - is right, but also writes one number past the end of the log-sum-exps.
#include "faults/attend.cuh"

FAULT_LSE_ENTRY {
  const Row where = this_row();
  if (where.index >= kRows) return;
  const Result result = attend(q, k, v, where, visible_keys(where.row));
  store(out, where, result);
#if LSE
  store_lse(lse, where, result.lse);
  if (where.index == 0 && where.lane == 0) lse[kRows] = 1.0f;
#endif
}
