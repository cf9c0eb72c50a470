// fp8_factor_of_first_head.cu - one factor a tensor, where there is one a head.
#include "faults/attend.cuh"

FAULT_FP8_ENTRY {
  attend_and_store(q, k, v, out, {q_descale[0] * k_descale[0], v_descale[0]});
}
