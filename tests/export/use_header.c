// use_header.c: Loads, launches and unloads an exported kernel; wrong pointers are refused.
#define ATTENTION_IMPLEMENTATION
#include "attention.h"
#include "attention.h" /* twice is once */

#include <stdio.h>

#ifdef WITH_FACTORS
#define FACTORS kQDescale, kKDescale, kVDescale,
enum { kQDescale = 7 << 20, kKDescale = 8 << 20, kVDescale = 9 << 20 };
#else
#define FACTORS
#endif
enum { kQ = 1 << 20, kK = 2 << 20, kV = 3 << 20, kOut = 4 << 20, kLse = 5 << 20, kScratch = 6 << 20 };

int main(void) {
  attention_kernel kernel;
  const CUstream stream = (CUstream)(uintptr_t)7;
  CUresult code = attention_load(&kernel);
  printf("loaded %d module %d\n", (int)code, kernel.module != NULL);
  if (code != CUDA_SUCCESS) return 0;
  printf("scratch %llu verified %d\n", (unsigned long long)attention_scratch_bytes(),
         ATTENTION_VERIFIED);
  code = attention_launch(&kernel, kQ, kK, kV, FACTORS kOut, kLse, kScratch, stream);
  printf("launched %d\n", (int)code);
  code = attention_launch(&kernel, kQ, kK, kV, FACTORS 0, kLse, kScratch, stream);
  printf("null %d\n", (int)code);
  code = attention_launch(&kernel, kQ, kK + 8, kV, FACTORS kOut, kLse, kScratch, stream);
  printf("misaligned %d\n", (int)code);
  if (attention_scratch_bytes() > 0) {
    code = attention_launch(&kernel, kQ, kK, kV, FACTORS kOut, kLse, kScratch + 16, stream);
    printf("misaligned scratch %d\n", (int)code);
  }
  printf("unloaded %d\n", (int)attention_unload(&kernel));
  return 0;
}
