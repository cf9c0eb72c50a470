// traps.cu - executes a trap.
#include "faults/attend.cuh"

FAULT_ENTRY {
  attend_and_store(q, k, v, out);
  asm volatile("trap;");
}
