// misaligned.cu - reads 16 bytes from an address that is no multiple of 16.
#include "faults/attend.cuh"

FAULT_ENTRY {
  attend_and_store(q, k, v, out);
  const elem* odd = k + 1;
  u32 x, y, z, w;
  asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(x), "=r"(y), "=r"(z), "=r"(w)
               : "l"(odd));
  if ((x & y & z & w) == 0xffffffffu) out[0] = 0;
}
