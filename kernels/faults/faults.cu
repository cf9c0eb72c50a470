// faults.cu: Computes attention with one thing wrong, which FAULT names.
//
// The groups have a section for each fault: fault_main, and what is launched in front of it and
// behind it. notes.md says how each shows.
#include "common/prelude.cuh"

#if FAULT == FAULT_HALF_SUMS
#define ROUND_SUM(sum) f16_to_float(float_to_f16(sum))
#elif FAULT == FAULT_FP8_SATURATES
#define ROUND_WEIGHT(weight) (e4m3_to_float(float_to_e4m3((weight) * 4096.0f)) / 4096.0f)
#endif
#include "faults/attend.cuh"

#include "faults/accuracy.cuh"
#include "faults/launch.cuh"
#include "faults/memory.cuh"
#include "faults/quantize.cuh"
#include "faults/state.cuh"
