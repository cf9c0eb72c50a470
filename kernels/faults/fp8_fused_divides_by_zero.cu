// fp8_fused_divides_by_zero.cu - the factor of a head of zeros is 0, by which its elements are divided.
#define FACTOR_OF_LARGEST(largest) ((largest) / kLargestElement)
#include "faults/quantize.cuh"

FAULT_FUSED_ENTRIES
