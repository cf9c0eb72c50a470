// cublas.cu: Computes the softmax of the rows of S that a library's GEMM left in memory; P takes
// their place.
//
// The launches: S = SOFTMAX_SCALE * QK^T (cuBLAS), this kernel, O = PV (cuBLAS). A warp or a CTA
// shares a row; each thread takes octets of 8 neighbouring keys. Short rows stay in registers, long
// ones are read twice. notes.md derives why writing in place is safe.
#include "common/score_rows.cuh"

constexpr int kThreads = NUM_WARPS * 32;
constexpr bool kByBlock = ROW_BY == ROW_BY_BLOCK;
constexpr int kRowThreads = kByBlock ? kThreads : 32;
constexpr bool kWide = SCORE_TYPE == SCORE_TYPE_F32;
using score = ScoreType<kWide>::type;
using Octet = ScoreType<kWide>::Octet;

constexpr int kOctets = kKeyPitch / 8;
constexpr int kThreadOctets = ceil_div(kOctets, kRowThreads);  // octets of a thread
constexpr bool kHeld = kThreadOctets <= 4;                     // 32 registers
constexpr float kLog2e = 1.44269504088896341f;
constexpr i64 kRows = kHeadCount * SEQ_Q;
/// A row of P begins where its row of S does; in elements.
constexpr i64 kPPitch = i64{kKeyPitch} * (kWide ? 2 : 1);

#if ROW_BY == ROW_BY_BLOCK
__shared__ float shared_maxima[NUM_WARPS];
__shared__ float shared_sums[NUM_WARPS];
#endif

/// The maximum over the threads of a row, on all of them.
DEVICE float reduce_max(float value) {
  value = warp_max(value);
#if ROW_BY == ROW_BY_BLOCK
  if (threadIdx.x % 32 == 0) shared_maxima[threadIdx.x / 32] = value;
  __syncthreads();
#pragma unroll
  for (int warp = 0; warp < NUM_WARPS; ++warp) value = fmaxf(value, shared_maxima[warp]);
#endif
  return value;
}

/// The sum over the threads of a row, on all of them.
DEVICE float reduce_sum(float value) {
  value = warp_sum(value);
#if ROW_BY == ROW_BY_BLOCK
  if (threadIdx.x % 32 == 0) shared_sums[threadIdx.x / 32] = value;
  __syncthreads();
  value = 0.0f;
#pragma unroll
  for (int warp = 0; warp < NUM_WARPS; ++warp) value += shared_sums[warp];
#endif
  return value;
}

/// S in f32 is twice as wide as P: an octet of P lands on S that other threads must have read.
DEVICE void wait_for_readers() {
  if constexpr (kWide) {
    if constexpr (kByBlock) {
      __syncthreads();
    } else {
      __syncwarp();
    }
  }
}

struct Row {
  const score* scores;
  elem* p;
  int visible;  // keys
  int worker;   // this thread among those of the row

  DEVICE int first_key(int index) const { return (worker + index * kRowThreads) * 8; }

  /// S of an octet, in powers of two; -inf where it is masked.
  DEVICE void load(float (&values)[8], int index) const {
    const int key = first_key(index);
#pragma unroll
    for (int i = 0; i < 8; ++i) values[i] = NEG_INF;
    if (key >= visible) return;
    Octet octet;
    octet.load(scores + key);
    float found[8];
    octet.unpack(found);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      if (key + i < visible) values[i] = found[i] * kLog2e;
    }
  }

  /// P of an octet, zeros of masked keys included: PV reads every key.
  DEVICE void store(const float (&exponentials)[8], int index, float factor) const {
    const int key = first_key(index);
    if (key >= kKeyPitch) return;
    float found[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) found[i] = exponentials[i] * factor;
    *reinterpret_cast<uint4*>(p + key) = pack_octet(found);
  }
};

DEVICE float max_with(const float (&values)[8], float top) {
#pragma unroll
  for (int i = 0; i < 8; ++i) top = fmaxf(top, values[i]);
  return top;
}

/// A row that sees no key has row_max -inf, which must not be subtracted from itself.
DEVICE float finite(float row_max) { return row_max == NEG_INF ? 0.0f : row_max; }

/// Values become 2^(value - row_max); returns their sum.
DEVICE float exponentiate(float (&values)[8], float row_max) {
  float sum = 0.0f;
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    values[i] = fast_exp2(values[i] - row_max);
    sum += values[i];
  }
  return sum;
}

/// A row that sees no key has row_sum 0 and becomes zeros.
DEVICE float p_factor(float sum) { return sum == 0.0f ? 0.0f : kPScale / sum; }

/// The row stays in registers: one read, one exponential a key.
DEVICE void softmax_in_registers(const Row& row) {
  float values[kHeld ? kThreadOctets : 1][8];
  float row_max = NEG_INF;
#pragma unroll
  for (int octet = 0; octet < (kHeld ? kThreadOctets : 1); ++octet) {
    row.load(values[octet], octet);
    row_max = max_with(values[octet], row_max);
  }
  row_max = finite(reduce_max(row_max));
  float sum = 0.0f;
#pragma unroll
  for (int octet = 0; octet < (kHeld ? kThreadOctets : 1); ++octet)
    sum += exponentiate(values[octet], row_max);
  const float factor = p_factor(reduce_sum(sum));
  wait_for_readers();
#pragma unroll
  for (int octet = 0; octet < (kHeld ? kThreadOctets : 1); ++octet)
    row.store(values[octet], octet, factor);
}

/// The row is read twice: for row_max and row_sum, which every thread keeps for its own keys until
/// the end of the pass, and for P.
DEVICE void softmax_in_two_passes(const Row& row) {
  float thread_max = NEG_INF;
  float thread_sum = 0.0f;
#pragma unroll 2
  for (int octet = 0; octet < kThreadOctets; ++octet) {
    float values[8];
    row.load(values, octet);
    const float top = max_with(values, thread_max);
    const float earlier = thread_sum * fast_exp2(thread_max - finite(top));
    thread_sum = earlier + exponentiate(values, finite(top));
    thread_max = top;
  }
  const float row_max = finite(reduce_max(thread_max));
  const float factor = p_factor(reduce_sum(thread_sum * fast_exp2(thread_max - row_max)));
#pragma unroll 2
  for (int octet = 0; octet < kThreadOctets; ++octet) {
    float values[8];
    row.load(values, octet);
    wait_for_readers();
    exponentiate(values, row_max);
    row.store(values, octet, factor);
  }
}

extern "C" __global__ void __launch_bounds__(kThreads) cublas_softmax(score* scores) {
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const i64 index = kByBlock ? i64{blockIdx.x} : i64{blockIdx.x} * NUM_WARPS + warp;
  if (index >= kRows) return;
  const Row row{scores + index * kKeyPitch, reinterpret_cast<elem*>(scores) + index * kPPitch,
                key_end(static_cast<int>(index % SEQ_Q)),
                static_cast<int>(threadIdx.x) % kRowThreads};
  if constexpr (kHeld) {
    softmax_in_registers(row);
  } else {
    softmax_in_two_passes(row);
  }
}
