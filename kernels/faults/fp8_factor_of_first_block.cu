// fp8_factor_of_first_block.cu - has the factors of the first block of tokens for all of its head.
#include "faults/attend.cuh"

FAULT_FP8_ENTRY {
  const i64 head = this_row().head;
  const i64 of_keys = factor_index<SEQ_KV>(head, 0);
  attend_and_store(q, k, v, out,
                   {q_descale[factor_index<SEQ_Q>(head, 0)] * k_descale[of_keys], v_descale[of_keys]});
}
