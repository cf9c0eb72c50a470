// attention.c: Loads an exported kernel, checks it against double precision, times it.
/*
 *   fatune export --config runs/mission/best.json --to header --name attention
 *   cc -std=c99 -O2 -I. -I/usr/local/cuda/include attention.c -o attention -lcuda -lm
 *   ./attention
 *
 * Exit code 0: every output compared is right. */
#define ATTENTION_IMPLEMENTATION
#include "attention.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEADS_TO_CHECK 3
#define ROWS_TO_CHECK 5
#define LAUNCHES 500
#define REPEATS 9

/* Elements of a tensor (Q, K, V, OUT) in front of a row of head_dim. */
#define AT(TENSOR, batch, head, row)                    \
  ((size_t)(batch)*ATTENTION_##TENSOR##_BATCH_STRIDE +  \
   (size_t)(head)*ATTENTION_##TENSOR##_HEAD_STRIDE +    \
   (size_t)(row)*ATTENTION_##TENSOR##_ROW_STRIDE)
/* From its first to its last one. */
#define SPAN(TENSOR, HEADS, ROWS) \
  (AT(TENSOR, ATTENTION_BATCH - 1, (HEADS)-1, (ROWS)-1) + ATTENTION_HEAD_DIM)

static const char *const kDtype = ATTENTION_DTYPE;

/* Prints what failed and ends the program. */
static void check(CUresult code, const char *what) {
  const char *name = "an unknown error";
  if (code == CUDA_SUCCESS) return;
  cuGetErrorName(code, &name);
  fprintf(stderr, "%s: %s\n", what, name);
  exit(1);
}

static void *allocate(size_t bytes) {
  void *memory = malloc(bytes);
  if (memory == NULL) {
    fprintf(stderr, "out of memory\n");
    exit(1);
  }
  return memory;
}

/* --- f16 and bf16 as their 16 bits --- */

static double f16_value(unsigned bits) {
  const int exponent = (int)(bits >> 10 & 31);
  const double fraction = (double)(bits & 1023) / 1024;
  const double magnitude =
      exponent == 0 ? ldexp(fraction, -14) : ldexp(1 + fraction, exponent - 15);
  return bits & 0x8000 ? -magnitude : magnitude;
}

static double bf16_value(unsigned bits) {
  const unsigned wide = bits << 16;
  float value;
  memcpy(&value, &wide, sizeof(value));
  return value;
}

static double value_of(unsigned short bits) {
  return strcmp(kDtype, "bf16") == 0 ? bf16_value(bits) : f16_value(bits);
}

/* To nearest, ties away from zero; the inputs are normal numbers. */
static unsigned short f16_bits(double value) {
  int exponent;
  const double fraction = frexp(fabs(value), &exponent); /* 0.5 to 1 */
  const long units = lround(ldexp(fraction, 11));        /* 1024 to 2048 */
  if (value == 0 || exponent < -13) return 0;
  return (unsigned short)((value < 0 ? 0x8000 : 0) + ((exponent + 14) << 10) + (units - 1024));
}

static unsigned short bits_of(double value) {
  const float narrow = (float)value;
  unsigned wide;
  if (strcmp(kDtype, "bf16") != 0) return f16_bits(value);
  memcpy(&wide, &narrow, sizeof(wide));
  return (unsigned short)((wide + 0x8000) >> 16);
}

/* --- inputs --- */

static double uniform(void) {
  static unsigned long long state = 42;
  state = state * 6364136223846793005ULL + 1442695040888963407ULL;
  return ((double)(state >> 33) + 0.5) / 2147483648.0;
}

/* N(0,1) by Box and Muller. */
static double normal(void) {
  return sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform());
}

/* `count` random elements, here and on the device. */
static unsigned short *make_input(size_t count, CUdeviceptr *device) {
  unsigned short *host = (unsigned short *)allocate(2 * count);
  size_t i;
  for (i = 0; i < count; ++i) host[i] = bits_of(normal());
  check(cuMemAlloc(device, 2 * count), "cuMemAlloc");
  check(cuMemcpyHtoD(*device, host, 2 * count), "cuMemcpyHtoD");
  return host;
}

/* --- the reference --- */

/* One row of the output, and its log-sum-exp. */
static double attend(const unsigned short *q, const unsigned short *k, const unsigned short *v,
                     int row, double *out) {
  const int keys = ATTENTION_CAUSAL ? row + 1 + ATTENTION_SEQ_KV - ATTENTION_SEQ_Q : ATTENTION_SEQ_KV;
  double *weights = (double *)allocate(sizeof(double) * (size_t)(keys > 0 ? keys : 1));
  double peak = -INFINITY, sum = 0;
  int key, d;
  for (d = 0; d < ATTENTION_HEAD_DIM; ++d) out[d] = 0;
  for (key = 0; key < keys; ++key) {
    double score = 0;
    for (d = 0; d < ATTENTION_HEAD_DIM; ++d)
      score += value_of(q[d]) * value_of(k[AT(K, 0, 0, key) + (size_t)d]);
    weights[key] = score * ATTENTION_SCALE;
    if (weights[key] > peak) peak = weights[key];
  }
  if (keys <= 0) peak = 0; /* no key is seen: the sum stays 0, its logarithm -infinity */
  for (key = 0; key < keys; ++key) sum += exp(weights[key] - peak);
  for (key = 0; key < keys; ++key) {
    const double weight = exp(weights[key] - peak) / sum;
    for (d = 0; d < ATTENTION_HEAD_DIM; ++d)
      out[d] += weight * value_of(v[AT(V, 0, 0, key) + (size_t)d]);
  }
  free(weights);
  return peak + log(sum);
}

struct Tensors {
  unsigned short *q, *k, *v, *out;
  float *lse; /* NULL: not written */
};

/* The largest error of one row, that of its log-sum-exp included. */
static double row_error(const struct Tensors *t, int batch, int head, int row) {
  const int kv_head = head / (ATTENTION_HEADS / ATTENTION_KV_HEADS);
  const size_t query = (size_t)(batch * ATTENTION_HEADS + head) * ATTENTION_SEQ_Q + (size_t)row;
  const unsigned short *out = t->out + AT(OUT, batch, head, row);
  double expected[ATTENTION_HEAD_DIM];
  double worst = 0;
  const double lse =
      attend(t->q + AT(Q, batch, head, row), t->k + AT(K, batch, kv_head, 0),
             t->v + AT(V, batch, kv_head, 0), row, expected);
  int d;
  for (d = 0; d < ATTENTION_HEAD_DIM; ++d) {
    const double error = fabs(expected[d] - value_of(out[d]));
    if (!(error <= worst)) worst = error; /* so that NaN counts */
  }
  if (t->lse != NULL && lse != t->lse[query] && !(fabs(lse - t->lse[query]) <= worst))
    worst = fabs(lse - t->lse[query]);
  return worst;
}

/* First, last and some heads and rows between. */
static double worst_error(const struct Tensors *t) {
  double worst = 0;
  int h, r;
  for (h = 0; h < HEADS_TO_CHECK; ++h) {
    const int head = (ATTENTION_BATCH * ATTENTION_HEADS - 1) * h / (HEADS_TO_CHECK - 1);
    for (r = 0; r < ROWS_TO_CHECK; ++r) {
      const int row = (ATTENTION_SEQ_Q - 1) * r / (ROWS_TO_CHECK - 1);
      const double error = row_error(t, head / ATTENTION_HEADS, head % ATTENTION_HEADS, row);
      if (!(error <= worst)) worst = error;
    }
  }
  return worst;
}

/* --- the clock --- */

static int by_value(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

struct Launch {
  attention_kernel kernel;
  CUdeviceptr q, k, v, out, lse, scratch;
  CUstream stream;
};

static void launch(const struct Launch *l) {
  check(attention_launch(&l->kernel, l->q, l->k, l->v, l->out, l->lse, l->scratch, l->stream),
        "attention_launch");
}

/* Median over repeats of the time of one launch among many, in microseconds. The launches are
 * captured into a graph: the host would be the slower side of kernels of a few microseconds. */
static double time_launch(const struct Launch *l) {
  double times[REPEATS];
  CUevent begin, end;
  CUgraph graph;
  CUgraphExec executable;
  int i, repeat;
  check(cuStreamBeginCapture(l->stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), "begin capture");
  for (i = 0; i < LAUNCHES; ++i) launch(l);
  check(cuStreamEndCapture(l->stream, &graph), "end capture");
  check(cuGraphInstantiate(&executable, graph, 0), "cuGraphInstantiate");
  check(cuEventCreate(&begin, CU_EVENT_DEFAULT), "cuEventCreate");
  check(cuEventCreate(&end, CU_EVENT_DEFAULT), "cuEventCreate");
  check(cuGraphLaunch(executable, l->stream), "cuGraphLaunch"); /* warms up */
  for (repeat = 0; repeat < REPEATS; ++repeat) {
    float milliseconds = 0;
    check(cuEventRecord(begin, l->stream), "cuEventRecord");
    check(cuGraphLaunch(executable, l->stream), "cuGraphLaunch");
    check(cuEventRecord(end, l->stream), "cuEventRecord");
    check(cuEventSynchronize(end), "cuEventSynchronize");
    check(cuEventElapsedTime(&milliseconds, begin, end), "cuEventElapsedTime");
    times[repeat] = 1000.0 * milliseconds / LAUNCHES;
  }
  cuGraphExecDestroy(executable);
  cuGraphDestroy(graph);
  qsort(times, REPEATS, sizeof(times[0]), by_value);
  return times[REPEATS / 2];
}

int main(void) {
  const size_t queries = (size_t)ATTENTION_BATCH * ATTENTION_HEADS * ATTENTION_SEQ_Q;
  const size_t outputs = SPAN(OUT, ATTENTION_HEADS, ATTENTION_SEQ_Q);
  /* Twice the rounding of an output of size 1, and of the weights. */
  const double limit = strcmp(kDtype, "bf16") == 0 ? 1.6e-2 : 2e-3;
  struct Tensors host;
  struct Launch l;
  CUdevice device;
  CUcontext context;
  double error;
  memset(&l, 0, sizeof(l));
  check(cuInit(0), "cuInit");
  check(cuDeviceGet(&device, 0), "cuDeviceGet");
  check(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
  check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
  check(attention_load(&l.kernel), "attention_load");
  check(cuStreamCreate(&l.stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  host.q = make_input(SPAN(Q, ATTENTION_HEADS, ATTENTION_SEQ_Q), &l.q);
  host.k = make_input(SPAN(K, ATTENTION_KV_HEADS, ATTENTION_SEQ_KV), &l.k);
  host.v = make_input(SPAN(V, ATTENTION_KV_HEADS, ATTENTION_SEQ_KV), &l.v);
  host.out = (unsigned short *)allocate(2 * outputs);
  host.lse = ATTENTION_LSE ? (float *)allocate(sizeof(float) * queries) : NULL;
  check(cuMemAlloc(&l.out, 2 * outputs), "cuMemAlloc");
  check(cuMemsetD8(l.out, 0xff, 2 * outputs), "cuMemsetD8"); /* NaN */
  if (ATTENTION_LSE) check(cuMemAlloc(&l.lse, sizeof(float) * queries), "cuMemAlloc");
  if (attention_scratch_bytes() > 0)
    check(cuMemAlloc(&l.scratch, attention_scratch_bytes()), "cuMemAlloc");
  check(cuCtxSynchronize(), "cuCtxSynchronize");

  launch(&l);
  check(cuStreamSynchronize(l.stream), "the kernel");
  check(cuMemcpyDtoH(host.out, l.out, 2 * outputs), "cuMemcpyDtoH");
  if (ATTENTION_LSE)
    check(cuMemcpyDtoH(host.lse, l.lse, sizeof(float) * queries), "cuMemcpyDtoH");
  error = worst_error(&host);
  printf("largest error of %d rows: %.3g (limit %.3g): %s\n", HEADS_TO_CHECK * ROWS_TO_CHECK, error,
         limit, error <= limit ? "right" : "WRONG");
  printf("one launch of %d in a graph: %.3f us\n", LAUNCHES, time_launch(&l));
  check(attention_unload(&l.kernel), "attention_unload");
  cuDevicePrimaryCtxRelease(device);
  return error <= limit ? 0 : 1;
}
