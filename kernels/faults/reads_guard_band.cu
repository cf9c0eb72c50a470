// reads_guard_band.cu - multiplies the value past the last one by zero instead of not reading it.
#include "faults/attend.cuh"

FAULT_ENTRY {
  const Row where = this_row();
  if (where.index >= kRows) return;
  Result result = attend(q, k, v, where, visible_keys(where.row));
  const i64 past = kv_offset<VTensor>(where.head) + i64{SEQ_KV} * VTensor::kRow;
  for (int c = 0; c < kColumns; ++c)
    result.columns[c] += 0.0f * read_column(v + past, where.lane + 32 * c);
  store(out, where, result);
}
