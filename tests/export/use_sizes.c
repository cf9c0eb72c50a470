// use_sizes.c: Launches an exported kernel at sizes that were not tuned, and beyond its limits.
#define TOTAL_IMPLEMENTATION
#include "total.h"

#include <stdio.h>

enum { kX = 1 << 20, kY = 2 << 20, kScratch = 3 << 20 };

int main(void) {
  static const int64_t sizes[] = {1, 2048, 2049, TOTAL_TUNED_n, 2147483653,
                                  0, -1,   4398046509057, INT64_MAX};
  const CUstream stream = (CUstream)(uintptr_t)7;
  total_kernel kernel;
  size_t i;
  if (total_load(&kernel) != CUDA_SUCCESS) return 1;
  for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); ++i) {
    printf("n %lld scratch %llu\n", (long long)sizes[i],
           (unsigned long long)total_scratch_bytes(sizes[i]));
    printf("launched %d\n", (int)total_launch(&kernel, kX, kY, sizes[i], kScratch, stream));
  }
  printf("unloaded %d\n", (int)total_unload(&kernel));
  return 0;
}
