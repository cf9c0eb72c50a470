// fp8_no_promotion.cu - sums as an fp8 tensor core keeps them, with nothing added in fp32 between:
// each step of 32 keys leaves 13 bits, cut off.
#include "faults/attend.cuh"

constexpr int kStep = 32;
constexpr u32 kKept = 0xfffffc00u;  // sign, exponent and 13 bits of the fraction

DEVICE float cut(float sum) { return __uint_as_float(__float_as_uint(sum) & kKept); }

DEVICE float score_of(const elem* query, const elem* k_row, int lane, float factor) {
  float dot = 0.0f;
  for (int c = 0; c < kColumns; ++c)
    dot += read_column(query, lane + 32 * c) * read_column(k_row, lane + 32 * c);
  return warp_sum(dot) * SOFTMAX_SCALE * factor;
}

FAULT_FP8_ENTRY {
  const Row where = this_row();
  if (where.index >= kRows) return;
  const Factors factors = factors_of(q_descale, k_descale, v_descale);
  const elem* query = q + QTensor::row(where.index);
  const elem* k_head = k + kv_offset<KTensor>(where.head);
  const elem* v_head = v + kv_offset<VTensor>(where.head);
  const i32 keys = visible_keys(where.row);
  float largest = NEG_INF;
  for (i32 key = 0; key < keys; ++key) {
    const elem* k_row = k_head + i64{key} * KTensor::kRow;
    largest = fmaxf(largest, score_of(query, k_row, where.lane, factors.scores));
  }
  Result result{};
  float sum = 0.0f;
  for (i32 first = 0; first < keys; first += kStep) {
    float step[kColumns] = {};
    for (i32 key = first; key < min_of(first + kStep, keys); ++key) {
      const elem* k_row = k_head + i64{key} * KTensor::kRow;
      const elem* v_row = v_head + i64{key} * VTensor::kRow;
      const float weight = expf(score_of(query, k_row, where.lane, factors.scores) - largest);
      sum += weight;
      const float rounded = e4m3_to_float(float_to_e4m3(weight * 256.0f)) / 256.0f;
      for (int c = 0; c < kColumns; ++c) step[c] += rounded * read_column(v_row, where.lane + 32 * c);
    }
    for (int c = 0; c < kColumns; ++c) result.columns[c] = cut(result.columns[c] + step[c]);
  }
  for (int c = 0; c < kColumns; ++c)
    result.columns[c] = sum == 0.0f ? 0.0f : result.columns[c] / sum * factors.values;
  store(out, where, result);
}
