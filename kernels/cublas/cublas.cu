// cublas.cu - softmax of the rows of scores that a library's product left; weights take their
// place.
//
// The launches: scores = SOFTMAX_SCALE * Q K^T (cuBLAS), this kernel, out = weights V (cuBLAS). A
// row belongs to a warp or to a block; each thread takes octets of 8 neighbouring keys. Short rows
// stay in registers, long ones are read twice. notes.md derives why writing in place is safe.
#include "common/score_rows.cuh"

constexpr int kThreads = NUM_WARPS * 32;
constexpr bool kByBlock = ROW_BY == ROW_BY_BLOCK;
constexpr int kRowThreads = kByBlock ? kThreads : 32;
constexpr bool kWide = SCORE_TYPE == SCORE_TYPE_F32;
using score = ScoreType<kWide>::type;
using Octet = ScoreType<kWide>::Octet;

constexpr int kOctets = kKeyPitch / 8;
constexpr int kPieces = ceil_div(kOctets, kRowThreads);  // octets of a thread
constexpr bool kHeld = kPieces <= 4;                     // 32 registers
constexpr float kLog2e = 1.44269504088896341f;
constexpr i64 kRows = kHeadCount * SEQ_Q;
/// Weights begin where their row's scores do; in elements.
constexpr i64 kWeightPitch = i64{kKeyPitch} * (kWide ? 2 : 1);

#if ROW_BY == ROW_BY_BLOCK
__shared__ float shared_peaks[NUM_WARPS];
__shared__ float shared_sums[NUM_WARPS];
#endif

/// The highest of a row's threads' values.
DEVICE float row_max(float value) {
  value = warp_max(value);
#if ROW_BY == ROW_BY_BLOCK
  if (threadIdx.x % 32 == 0) shared_peaks[threadIdx.x / 32] = value;
  __syncthreads();
#pragma unroll
  for (int warp = 0; warp < NUM_WARPS; ++warp) value = fmaxf(value, shared_peaks[warp]);
#endif
  return value;
}

/// The sum of a row's threads' values, the same for all.
DEVICE float row_sum(float value) {
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

/// f32 scores are twice as wide as weights: an octet of weights lands on scores that other threads
/// must have read.
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
  elem* weights;
  int visible;  // keys
  int worker;   // this thread among those of the row

  DEVICE int first_key(int piece) const { return (worker + piece * kRowThreads) * 8; }

  /// Scores of an octet, in powers of two; -inf where the row sees no key.
  DEVICE void load(float (&values)[8], int piece) const {
    const int key = first_key(piece);
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

  /// Weights of an octet, hidden keys' zeros included: the product reads every key.
  DEVICE void store(const float (&exponentials)[8], int piece, float factor) const {
    const int key = first_key(piece);
    if (key >= kKeyPitch) return;
    float found[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) found[i] = exponentials[i] * factor;
    *reinterpret_cast<uint4*>(weights + key) = pack_octet(found);
  }
};

DEVICE float highest(const float (&values)[8], float top) {
#pragma unroll
  for (int i = 0; i < 8; ++i) top = fmaxf(top, values[i]);
  return top;
}

/// A row that sees no key has the peak -inf, from which nothing may be subtracted.
DEVICE float finite(float peak) { return peak == NEG_INF ? 0.0f : peak; }

/// Values become 2^(value - peak); returns their sum.
DEVICE float exponentiate(float (&values)[8], float peak) {
  float sum = 0.0f;
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    values[i] = fast_exp2(values[i] - peak);
    sum += values[i];
  }
  return sum;
}

/// A row that sees no key has the sum 0 and becomes zeros.
DEVICE float weight_factor(float sum) { return sum == 0.0f ? 0.0f : kWeightScale / sum; }

/// The row stays in registers: one read, one exponential a key.
DEVICE void weigh_held(const Row& row) {
  float values[kHeld ? kPieces : 1][8];
  float peak = NEG_INF;
#pragma unroll
  for (int piece = 0; piece < (kHeld ? kPieces : 1); ++piece) {
    row.load(values[piece], piece);
    peak = highest(values[piece], peak);
  }
  peak = finite(row_max(peak));
  float sum = 0.0f;
#pragma unroll
  for (int piece = 0; piece < (kHeld ? kPieces : 1); ++piece)
    sum += exponentiate(values[piece], peak);
  const float factor = weight_factor(row_sum(sum));
  wait_for_readers();
#pragma unroll
  for (int piece = 0; piece < (kHeld ? kPieces : 1); ++piece)
    row.store(values[piece], piece, factor);
}

/// The row is read twice: for peak and sum, which every thread keeps for its own keys until the
/// end, and to be weighed.
DEVICE void weigh_streamed(const Row& row) {
  float own_peak = NEG_INF;
  float own_sum = 0.0f;
#pragma unroll 2
  for (int piece = 0; piece < kPieces; ++piece) {
    float values[8];
    row.load(values, piece);
    const float top = highest(values, own_peak);
    own_sum = own_sum * fast_exp2(own_peak - finite(top)) + exponentiate(values, finite(top));
    own_peak = top;
  }
  const float peak = finite(row_max(own_peak));
  const float factor = weight_factor(row_sum(own_sum * fast_exp2(own_peak - peak)));
#pragma unroll 2
  for (int piece = 0; piece < kPieces; ++piece) {
    float values[8];
    row.load(values, piece);
    wait_for_readers();
    exponentiate(values, peak);
    row.store(values, piece, factor);
  }
}

extern "C" __global__ void __launch_bounds__(kThreads) cublas_softmax(score* scores) {
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const i64 index = kByBlock ? i64{blockIdx.x} : i64{blockIdx.x} * NUM_WARPS + warp;
  if (index >= kRows) return;
  const Row row{scores + index * kKeyPitch, reinterpret_cast<elem*>(scores) + index * kWeightPitch,
                visible_keys(static_cast<int>(index % SEQ_Q)),
                static_cast<int>(threadIdx.x) % kRowThreads};
  if constexpr (kHeld) {
    weigh_held(row);
  } else {
    weigh_streamed(row);
  }
}
