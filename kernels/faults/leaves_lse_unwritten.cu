// leaves_lse_unwritten.cu - does not write the log-sum-exp of the last row of each head.
#include "faults/attend.cuh"

FAULT_LSE_ENTRY {
  const Row where = this_row();
  if (where.index >= kRows) return;
  const Result result = attend(q, k, v, where, visible_keys(where.row));
  store(out, where, result);
#if LSE
  if (where.row != SEQ_Q - 1) store_lse(lse, where, result.lse);
#endif
}
