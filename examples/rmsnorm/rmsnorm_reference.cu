// rmsnorm_reference.cu - y = x / sqrt(mean(x^2) + epsilon) * weight, a block a row, sums in fp64: what
// the gates compare with.
// With OUT_F32=1 it is the reference itself: y holds fp32, not rounded to DTYPE. With
// ROUND_INTERMEDIATES=1 it is the low-precision twin: the normalised element is rounded before it
// meets its weight, as in models that keep every step in DTYPE.
#include "common/prelude.cuh"
#include "rmsnorm.cuh"

#ifndef OUT_F32
#define OUT_F32 0
#endif
#ifndef ROUND_INTERMEDIATES
#define ROUND_INTERMEDIATES 0
#endif

#if OUT_F32
using out_elem = float;
DEVICE out_elem to_out(double value) { return static_cast<float>(value); }
#else
using out_elem = elem;
DEVICE out_elem to_out(double value) { return from_float(static_cast<float>(value)); }
#endif

DEVICE double round_step(double value) {
#if ROUND_INTERMEDIATES
  return to_float(from_float(static_cast<float>(value)));
#else
  return value;
#endif
}

extern "C" __global__ void __launch_bounds__(THREADS)
    rmsnorm_reference(const elem* x, const elem* weight, out_elem* y) {
  __shared__ double sums[THREADS];
  const int thread = static_cast<int>(threadIdx.x);
  const i64 first = static_cast<i64>(blockIdx.x) * COLUMNS;
  double sum = 0;
  for (int column = thread; column < COLUMNS; column += THREADS) {
    const double value = to_float(x[first + column]);
    sum += value * value;
  }
  sums[thread] = sum;
  __syncthreads();
  for (int half = THREADS / 2; half > 0; half /= 2) {
    if (thread < half) sums[thread] += sums[thread + half];
    __syncthreads();
  }
  const double root = sqrt(sums[0] / COLUMNS + static_cast<double>(kEpsilon));
  for (int column = thread; column < COLUMNS; column += THREADS) {
    const double normalised = round_step(to_float(x[first + column]) / root);
    y[first + column] = to_out(normalised * to_float(weight[column]));
  }
}
