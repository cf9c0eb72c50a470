// poor_rows.cu - attention with one thread a query row, written as plainly as it can be: a start for
// `fatune evolve` that leaves much to find.
#include "common/prelude.cuh"
#include "common/problem.cuh"

constexpr int kThreads = 32;  // of a CTA
constexpr int kLanes = 1;     // threads that share a row
constexpr int kColumns = HEAD_DIM / kLanes;  // of a row that a thread has
constexpr int kRows = kThreads / kLanes;     // of a CTA
constexpr int kBlocks = ceil_div(SEQ_Q, kRows);
static_assert(HEAD_DIM % (8 * kLanes) == 0, "a thread's columns begin at 16 bytes");

constexpr float kScale = SOFTMAX_SCALE;
DEVICE float exponential(float x) { return expf(x); }

DEVICE void read_columns(const elem* from, float (&into)[kColumns]) {
  for (int d = 0; d < kColumns; ++d) into[d] = to_float(from[d]);
}

DEVICE void write_columns(elem* to, const float (&from)[kColumns], float factor) {
  for (int d = 0; d < kColumns; ++d) to[d] = from_float(from[d] * factor);
}

DEVICE float score_of(const elem* query, const elem* key) {
  float a[kColumns], b[kColumns];
  read_columns(query, a);
  read_columns(key, b);
  float dot = 0.0f;
  for (int d = 0; d < kColumns; ++d) dot += a[d] * b[d];
  return dot * kScale;
}

DEVICE void add_row(float (&acc)[kColumns], float p, const elem* value) {
  float b[kColumns];
  read_columns(value, b);
  for (int d = 0; d < kColumns; ++d) acc[d] += p * b[d];
}

extern "C" __global__ void __launch_bounds__(kThreads)
    poor_rows_main(const elem* __restrict__ q, const elem* __restrict__ k,
                   const elem* __restrict__ v, elem* __restrict__ out) {
  const i64 block = blockIdx.x;
  const i64 head = block / kBlocks;
  const i32 first_row = static_cast<i32>(block % kBlocks) * kRows;
  const i32 row = first_row + static_cast<i32>(threadIdx.x) / kLanes;
  const i32 column = static_cast<i32>(threadIdx.x) % kLanes * kColumns;
  const bool inside = row < SEQ_Q;
  const i64 readable_row = min_of(row, SEQ_Q - 1);
  // Rows see the first keys; what the last row of the CTA sees, all threads walk over.
  const i32 visible = inside ? visible_keys(row) : 0;
  const i32 needed = visible_keys(min_of(first_row + kRows, SEQ_Q) - 1);
  const elem* k_head = k + kv_offset<KTensor>(head) + column;
  const elem* v_head = v + kv_offset<VTensor>(head) + column;
  const elem* query = q + (QTensor::head(head) + readable_row * QTensor::kRow) + column;

  float acc[kColumns];
  for (int d = 0; d < kColumns; ++d) acc[d] = 0.0f;
  float row_max = NEG_INF, row_sum = 0.0f;

  for (i32 key = 0; key < needed; ++key) {
    const float score = score_of(query, k_head + static_cast<i64>(key) * KTensor::kRow);
    row_max = fmaxf(row_max, key < visible ? score : NEG_INF);
  }
  for (i32 key = 0; key < needed; ++key) {
    const float score = score_of(query, k_head + static_cast<i64>(key) * KTensor::kRow);
    const float p = key < visible ? exponential(score - row_max) : 0.0f;
    row_sum += p;
    add_row(acc, p, v_head + static_cast<i64>(key) * VTensor::kRow);
  }

  elem* out_row = out + (OutTensor::head(head) + readable_row * OutTensor::kRow) + column;
  if (inside) write_columns(out_row, acc, row_sum > 0.0f ? 1.0f / row_sum : 0.0f);
}
