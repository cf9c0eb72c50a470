// hangs.cu - waits for a key to change that no thread changes.
#include "faults/attend.cuh"

FAULT_ENTRY {
  const volatile elem* watched = k;
  const elem first = watched[0];
  while (watched[0] == first) {
  }
  attend_and_store(q, k, v, out);
}
