// accuracy.cuh: Computes a wrong output or log-sum-exp.
#pragma once

#if FAULT == FAULT_HALF_SUMS
// It rounds the sums over keys to f16: right to the eye, wrong in the second digit.
FAULT_ENTRY { attend_and_store(q, k, v, out); }

#elif FAULT == FAULT_LSE_IN_BASE_2
// It is right but for its log-sum-exp, a logarithm to base 2.
FAULT_ENTRY {
  const Row where = this_row();
  if (where.index >= kRows) return;
  const Result result = attend(q, k, v, where, key_end(where.row));
  store(out, where, result);
#if LSE
  store_lse(lse, where, result.lse * 1.44269504f);
#endif
}

#elif FAULT == FAULT_READS_GUARD_BAND
// It multiplies the value past the last one by zero instead of not reading it.
FAULT_ENTRY {
  const Row where = this_row();
  if (where.index >= kRows) return;
  Result result = attend(q, k, v, where, key_end(where.row));
  const i64 past = kv_offset<VTensor>(where.head) + i64{SEQ_KV} * VTensor::kRow;
  for (int c = 0; c < kColumns; ++c)
    result.columns[c] += 0.0f * read_column(v + past, where.lane + 32 * c);
  store(out, where, result);
}

#elif FAULT == FAULT_READS_BETWEEN_ROWS
// It multiplies an element between two rows of the values by zero.
FAULT_ENTRY {
  const Row where = this_row();
  if (where.index >= kRows) return;
  Result result = attend(q, k, v, where, key_end(where.row));
  if (where.lane == 0) result.columns[0] += 0.0f * to_float(v[HEAD_DIM]);
  store(out, where, result);
}

#elif FAULT == FAULT_SKIPS_LAST_TILE
// It leaves out the last tile of 64 keys, as a loop with a wrong bound does.
FAULT_ENTRY {
  const Row where = this_row();
  if (where.index >= kRows) return;
  const i32 keys = key_end(where.row);
  store(out, where, attend(q, k, v, where, max_of(0, (ceil_div(keys, 64) - 1) * 64)));
}

#elif FAULT == FAULT_WRITES_NAN
// It turns one element of the last row into a NaN.
FAULT_ENTRY {
  const Row where = this_row();
  if (where.index >= kRows) return;
  Result result = attend(q, k, v, where, key_end(where.row));
  if (where.index == kRows - 1 && where.lane == 0) result.columns[0] = __int_as_float(0x7fffffff);
  store(out, where, result);
}

#elif FAULT == FAULT_WRONG_MASK
// It sees one key too few.
FAULT_ENTRY {
  const Row where = this_row();
  if (where.index < kRows) store(out, where, attend(q, k, v, where, key_end(where.row) - 1));
}

#elif FAULT == FAULT_WIDE_WINDOW
// It sees one key too many in front of the window.
FAULT_ENTRY {
  const Row where = this_row();
  if (where.index < kRows) store(out, where, attend(q, k, v, where, key_end(where.row), {}, 1));
}

#elif FAULT == FAULT_WRONG_CORNER
// It aligns its diagonal upper-left.
FAULT_ENTRY {
  const Row where = this_row();
  const i32 keys = min_of(SEQ_KV, where.row + 1 + KEYS_AFTER);
  if (where.index < kRows) store(out, where, attend(q, k, v, where, keys));
}

#elif FAULT == FAULT_MASKS_WHOLE_TILES
// It masks whole tiles of keys, but no key of a tile that a row sees in part.
FAULT_ENTRY {
  const Row where = this_row();
  const i32 keys = min_of(SEQ_KV, ceil_div(key_end(where.row), 32) * 32);
  if (where.index < kRows) store(out, where, attend(q, k, v, where, keys));
}

#elif FAULT == FAULT_BIAS_OF_NEIGHBOUR_HEAD
// It adds the bias of the next head.
FAULT_ENTRY {
  const Row where = this_row();
  if (where.index >= kRows) return;
  const int batch = static_cast<int>(where.head / HEADS);
  const int head = static_cast<int>(where.head % HEADS);
  const bias_elem* other = bias_row(bias, batch * HEADS + (head + 1) % HEADS, where.row);
  store(out, where, attend(q, k, v, where, key_end(where.row), {}, 0, other));
}

#elif FAULT == FAULT_SINK_IN_BASE_2
// It takes the sink for the exponent of a power of 2, as scores are within kernels.
FAULT_ENTRY {
  const Row where = this_row();
  if (where.index >= kRows) return;
  Result result = attend(q, k, v, where, key_end(where.row));
  const float share = exp2f(to_float(sink[where.head % HEADS]) - result.lse * 1.44269504f);
  for (int c = 0; c < kColumns; ++c) result.columns[c] /= 1.0f + share;
  store(out, where, result);
#if LSE
  store_lse(lse, where, result.lse + logf(1.0f + share));
#endif
}

#elif FAULT == FAULT_IGNORES_LENGTHS
// It sees all keys of each batch entry.
FAULT_ENTRY { attend_and_store(q, k, v, out); }

#elif FAULT == FAULT_IGNORES_DOCUMENTS
// It sees the keys of all documents.
FAULT_ENTRY { attend_and_store(q, k, v, out); }

#elif FAULT == FAULT_IGNORES_TENSORS
// It sees all keys, whatever the tensors of the mask's expression.
FAULT_ENTRY { attend_and_store(q, k, v, out); }

#elif FAULT == FAULT_ZEROS_WHEN_LONG
// It is right for short sequences; writes zeros for long ones, whose outputs are small.
FAULT_ENTRY {
  const Row where = this_row();
  if (where.index >= kRows) return;
  store(out, where, SEQ_KV < 8192 ? attend(q, k, v, where, key_end(where.row)) : Result{});
}

#elif FAULT == FAULT_NONDETERMINISTIC
// It flips the last bit of a few rows, chosen by the clock.
FAULT_ENTRY {
  const Row where = this_row();
  if (where.index >= kRows) return;
  store(out, where, attend(q, k, v, where, key_end(where.row)));
  u32 ticks;
  asm volatile("mov.u32 %0, %%clock;" : "=r"(ticks));
  if (where.lane == 0 && (ticks * 2654435761u) >> 28 == 0) out[OutTensor::row(where.index)] ^= 1;
}

#elif FAULT == FAULT_FP8_WITHOUT_DESCALE
// It takes elements for values.
FAULT_ENTRY { attend_and_store(q, k, v, out); }

#elif FAULT == FAULT_FP8_FACTOR_OF_KEYS
// It multiplies V by K's factor.
FAULT_ENTRY { attend_and_store(q, k, v, out, factors_of(q_descale, k_descale, k_descale)); }

#elif FAULT == FAULT_FP8_FACTOR_OF_FIRST_HEAD
// It takes one factor a tensor where there is one a head.
FAULT_ENTRY {
  attend_and_store(q, k, v, out, {q_descale[0] * k_descale[0], v_descale[0]});
}

#elif FAULT == FAULT_FP8_ZEROS
// It writes an output that absolute bounds let pass.
FAULT_ENTRY {
  const Row where = this_row();
  if (where.index < kRows) store(out, where, {});
}

#elif FAULT == FAULT_FP8_SATURATES
// It shifts P so far that e4m3 cannot hold it: the largest weights saturate.
FAULT_ENTRY { attend_and_store(q, k, v, out, factors_of(q_descale, k_descale, v_descale)); }

#elif FAULT == FAULT_FP8_NO_PROMOTION
// It keeps sums as an fp8 tensor core does: each step of 32 keys leaves 13 bits.
constexpr int kStep = 32;
constexpr u32 kKept = 0xfffffc00u;  // sign, exponent and 13 bits of the fraction

DEVICE float cut(float sum) { return __uint_as_float(__float_as_uint(sum) & kKept); }

DEVICE float score_of(const elem* query, const elem* k_row, int lane, float factor) {
  float dot = 0.0f;
  for (int c = 0; c < kColumns; ++c)
    dot += read_column(query, lane + 32 * c) * read_column(k_row, lane + 32 * c);
  return warp_sum(dot) * SOFTMAX_SCALE * factor;
}

FAULT_ENTRY {
  const Row where = this_row();
  if (where.index >= kRows) return;
  const Factors factors = factors_of(q_descale, k_descale, v_descale);
  const elem* query = q + QTensor::row(where.index);
  const elem* k_head = k + kv_offset<KTensor>(where.head);
  const elem* v_head = v + kv_offset<VTensor>(where.head);
  const i32 keys = key_end(where.row);
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
      for (int c = 0; c < kColumns; ++c)
        step[c] += rounded * read_column(v_row, where.lane + 32 * c);
    }
    for (int c = 0; c < kColumns; ++c) result.columns[c] = cut(result.columns[c] + step[c]);
  }
  for (int c = 0; c < kColumns; ++c)
    result.columns[c] = sum == 0.0f ? 0.0f : result.columns[c] / sum * factors.values;
  store(out, where, result);
}

#endif  // FAULT
