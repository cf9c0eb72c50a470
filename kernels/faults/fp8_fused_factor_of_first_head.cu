// fp8_fused_factor_of_first_head.cu - every head has the factor of the first; the larger ones saturate.
#define PART_OF_FACTOR(part) 0
#include "faults/quantize.cuh"

FAULT_FUSED_ENTRIES
