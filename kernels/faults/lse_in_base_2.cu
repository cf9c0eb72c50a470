// lse_in_base_2.cu - is right but for its log-sum-exp, a logarithm to base 2.
#include "faults/attend.cuh"

FAULT_LSE_ENTRY {
  const Row where = this_row();
  if (where.index >= kRows) return;
  const Result result = attend(q, k, v, where, visible_keys(where.row));
  store(out, where, result);
#if LSE
  store_lse(lse, where, result.lse * 1.44269504f);
#endif
}
