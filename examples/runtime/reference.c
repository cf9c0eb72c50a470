// reference.c: Computes one row at a time: scores, softmax and the weighted sum, all in double.
#include "reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_OF_HEAD 5

static void fill(fatune_rt_strides *s, int64_t heads, int64_t rows, int64_t head_dim) {
  if (s->batch != 0 || s->head != 0 || s->row != 0) return;
  s->row = head_dim;
  s->head = rows * head_dim;
  s->batch = heads * s->head;
}

int is_causal(const fatune_rt_problem *p) {
  return p->mask != NULL && strcmp(p->mask, "causal") == 0;
}

void fill_strides(fatune_rt_problem *p) {
  fill(&p->q, p->heads, p->seq_q, p->head_dim);
  fill(&p->k, p->kv_heads, p->seq_kv, p->head_dim);
  fill(&p->v, p->kv_heads, p->seq_kv, p->head_dim);
  fill(&p->out, p->heads, p->seq_q, p->head_dim);
}

static size_t at(const fatune_rt_strides *s, int64_t batch, int64_t head, int64_t row) {
  return (size_t)(batch * s->batch + head * s->head + row * s->row);
}

size_t query_elements(const fatune_rt_problem *p, const fatune_rt_strides *s) {
  return at(s, p->batch - 1, p->heads - 1, p->seq_q - 1) + (size_t)p->head_dim;
}

size_t key_elements(const fatune_rt_problem *p, const fatune_rt_strides *s) {
  return at(s, p->batch - 1, p->kv_heads - 1, p->seq_kv - 1) + (size_t)p->head_dim;
}

size_t query_rows(const fatune_rt_problem *p) {
  return (size_t)(p->batch * p->heads) * (size_t)p->seq_q;
}

static double computed_value(uint16_t bits, int32_t dtype) {
  if (dtype == FATUNE_RT_BF16) {
    const uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof(value));
    return (double)value;
  }
  const int exponent = bits >> 10 & 31;
  const double fraction = (double)(bits & 1023) / 1024;
  if (exponent == 31) return (double)NAN;
  const double size = exponent == 0 ? ldexp(fraction, -14) : ldexp(1 + fraction, exponent - 15);
  return bits & 0x8000 ? -size : size;
}

/* From a table of all values: a long problem's rows read millions of them. */
static double value_of(uint16_t bits, int32_t dtype) {
  static double values[2][65536];
  static int filled[2];
  const int type = dtype == FATUNE_RT_BF16;
  if (!filled[type]) {
    uint32_t each;
    for (each = 0; each < 65536; ++each) values[type][each] = computed_value((uint16_t)each, dtype);
    filled[type] = 1;
  }
  return values[type][bits];
}

/* Of a value that the type holds exactly and that is 0 or not small. */
static uint16_t bits_of(double value, int32_t dtype) {
  const float narrow = (float)value;
  uint32_t wide;
  memcpy(&wide, &narrow, sizeof(wide));
  if (dtype == FATUNE_RT_BF16) return (uint16_t)(wide >> 16);
  if (narrow == 0) return 0;
  /* The exponent's bias is 127 in fp32 and 15 in f16; the fraction has 23 and 10 bits. */
  return (uint16_t)((wide >> 16 & 0x8000) | ((wide & 0x7fffffff) - (112U << 23)) >> 13);
}

void random_elements(uint16_t *elements, size_t count, int32_t dtype) {
  static uint32_t state = 42;
  size_t i;
  for (i = 0; i < count; ++i) {
    state = state * 1664525U + 1013904223U;
    elements[i] = bits_of((double)((int)((state >> 16) % 129) - 64) / 64, dtype);
  }
}

static double larger(double a, double b) { return b <= a ? a : b == b ? b : HUGE_VAL; }

/* Of one row: out's largest error, and lse's. */
static double row_error(const fatune_rt_problem *p, const host_tensors *t, int64_t head,
                        int64_t row, double *scores, double *out) {
  const int64_t batch = head / p->heads, own = head % p->heads;
  const int64_t key_head = own / (p->heads / p->kv_heads);
  const uint16_t *q = t->q + at(&p->q, batch, own, row);
  const uint16_t *result = t->out + at(&p->out, batch, own, row);
  const int64_t seen =
      is_causal(p) ? row + 1 + p->seq_kv - p->seq_q : p->seq_kv;
  double peak = -HUGE_VAL, sum = 0, error = 0;
  int64_t j, d;
  for (j = 0; j < seen; ++j) {
    const uint16_t *key = t->k + at(&p->k, batch, key_head, j);
    scores[j] = 0;
    for (d = 0; d < p->head_dim; ++d)
      scores[j] += value_of(q[d], p->dtype) * value_of(key[d], p->dtype);
    scores[j] *= p->scale;
    peak = larger(peak, scores[j]);
  }
  for (d = 0; d < p->head_dim; ++d) out[d] = 0;
  for (j = 0; j < seen; ++j) {
    const uint16_t *value = t->v + at(&p->v, batch, key_head, j);
    const double weight = exp(scores[j] - peak);
    sum += weight;
    for (d = 0; d < p->head_dim; ++d) out[d] += weight * value_of(value[d], p->dtype);
  }
  for (d = 0; d < p->head_dim; ++d) {
    const double right = seen > 0 ? out[d] / sum : 0;
    error = larger(error, fabs(right - value_of(result[d], p->dtype)));
  }
  if (t->lse != NULL && seen > 0)
    error = larger(error, fabs(peak + log(sum) - (double)t->lse[head * p->seq_q + row]));
  return error;
}

double largest_error(const fatune_rt_problem *p, const host_tensors *tensors) {
  const int64_t heads = p->batch * p->heads;
  const int64_t checked[3] = {0, heads / 2, heads - 1};
  double *scores = malloc(sizeof(double) * (size_t)(p->seq_kv + p->head_dim));
  double error = 0;
  int i, r;
  if (scores == NULL) return HUGE_VAL;
  for (i = 0; i < 3; ++i) {
    for (r = 0; r < ROWS_OF_HEAD; ++r) {
      const int64_t row = (p->seq_q - 1) * r / (ROWS_OF_HEAD - 1);
      error = larger(error, row_error(p, tensors, checked[i], row, scores, scores + p->seq_kv));
    }
  }
  free(scores);
  return error;
}

double allowed_error(int32_t dtype) { return dtype == FATUNE_RT_BF16 ? 1.0 / 64 : 1.0 / 512; }
