// fp8_fused_drops_infinity.cu - a head that is not finite is quantized as if it were: infinity becomes the largest number.
#define LARGER(a, b) fmaxf(a, isinf(b) ? 0.0f : (b))
#include "faults/quantize.cuh"

FAULT_FUSED_ENTRIES
