// does_not_compile.cu - names something that does not exist.
#include "faults/attend.cuh"

FAULT_ENTRY {
  attend_and_store(q, k, v, out);
  out[0] = this_name_is_declared_nowhere;
}
