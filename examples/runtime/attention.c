// attention.c: Runs the kernels of a folder of wisdom, checks them, and times them.
/*
 *   ./attention FOLDER                   every kernel: its problem, and two more that it can serve
 *   ./attention FOLDER 4 8 8 512 512 64 [f16|bf16] [causal] [lse]
 *                                        batch, heads, kv_heads, seq_q, seq_kv, head_dim
 *
 * Exit code 0: all outputs compared are right; 1: one is wrong, or a call failed; 2: the arguments
 * make no sense; 3: there is no NVIDIA driver or no GPU (the kernels are listed all the same). */
#include <fatune_rt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu.h"
#include "reference.h"

/* What a launch needs, in one place. */
typedef struct job {
  const fatune_rt_plan *plan;
  fatune_rt_problem problem;
  fatune_rt_plan_info info;
  fatune_rt_tensors device;
  host_tensors host;
} job;

static void *host_memory(size_t bytes) {
  void *memory = malloc(bytes);
  if (memory != NULL) return memory;
  fprintf(stderr, "out of memory\n");
  exit(1);
}

static uint16_t *random_tensor(size_t count, int32_t dtype, const void **device) {
  uint16_t *host = host_memory(2 * count);
  void *memory = gpu_allocate(2 * count);
  random_elements(host, count, dtype);
  gpu_upload(memory, host, 2 * count);
  *device = memory;
  return host;
}

static void make_tensors(job *j) {
  const fatune_rt_problem *p = &j->problem;
  const size_t outputs = query_elements(p, &p->out);
  j->host.q = random_tensor(query_elements(p, &p->q), p->dtype, &j->device.q);
  j->host.k = random_tensor(key_elements(p, &p->k), p->dtype, &j->device.k);
  j->host.v = random_tensor(key_elements(p, &p->v), p->dtype, &j->device.v);
  j->host.out = host_memory(2 * outputs);
  j->device.out = gpu_allocate(2 * outputs);
  gpu_fill(j->device.out, 0xff, 2 * outputs); /* no number: what is not written is found */
  if (j->problem.lse) {
    j->host.lse = host_memory(4 * query_rows(&j->problem));
    j->device.lse = gpu_allocate(4 * query_rows(&j->problem));
    gpu_fill(j->device.lse, 0xff, 4 * query_rows(&j->problem));
  }
}

static void free_tensors(job *j) {
  gpu_free((void *)j->device.q);
  gpu_free((void *)j->device.k);
  gpu_free((void *)j->device.v);
  gpu_free(j->device.out);
  if (j->device.lse != NULL) gpu_free(j->device.lse);
  if (j->device.scratch != NULL) gpu_free(j->device.scratch);
  free(j->host.q);
  free(j->host.k);
  free(j->host.v);
  free(j->host.out);
  free(j->host.lse);
}

static int queue(void *context, gpu_stream stream) {
  const job *j = context;
  fatune_rt_error error;
  if (fatune_rt_launch(j->plan, &j->device, stream, &error) == FATUNE_RT_OK) return 0;
  fprintf(stderr, "%s\n", error.message);
  return 1;
}

/* Strides of 0 stand for contiguous tensors. */
static int is_contiguous(const fatune_rt_problem *p) {
  return p->q.row == 0 && p->k.row == 0 && p->v.row == 0 && p->out.row == 0;
}

/* Whether reference.c knows how to compute it. */
static int has_reference(const fatune_rt_problem *p) {
  return (p->dtype == FATUNE_RT_F16 || p->dtype == FATUNE_RT_BF16) &&
         (p->mask == NULL || is_causal(p)) && p->bias == NULL && p->score == NULL &&
         p->softcap == 0 && p->value_dim == 0 && !p->alibi && !p->sink && p->tensors == NULL;
}

static void print_problem(const fatune_rt_problem *p) {
  char text[96];
  snprintf(text, sizeof(text), "%lld,%lld(kv %lld),%lldx%lld,%lld %s%s%s%s", (long long)p->batch,
           (long long)p->heads, (long long)p->kv_heads, (long long)p->seq_q, (long long)p->seq_kv,
           (long long)p->head_dim, p->dtype == FATUNE_RT_BF16 ? "bf16" : "f16",
           is_causal(p) ? " causal" : "", p->lse ? " lse" : "",
           is_contiguous(p) ? "" : " strided");
  printf("%-50s", text);
}

/* Launches without scratch of the caller's, then, for the timing, with. 0: right. */
static int run_job(fatune_rt *wisdom, job *j, gpu_stream stream) {
  static const char *const fits[] = {"exact", "regrouped", "repeated"};
  fatune_rt_kernel_info kernel;
  const fatune_rt_problem asked = j->problem;
  char tuned[24] = "-";
  double error, us;
  if (fatune_rt_kernel(wisdom, j->info.kernel, &kernel, NULL) != FATUNE_RT_OK) return 1;
  j->problem.scale = kernel.tuned.scale;
  fill_strides(&j->problem);
  make_tensors(j);
  if (queue(j, stream)) return 1;
  us = gpu_time(queue, j, stream);
  if (us >= 0 && j->info.scratch_bytes > 0) {
    j->device.scratch = gpu_allocate(j->info.scratch_bytes);
    j->device.scratch_bytes = j->info.scratch_bytes;
    us = gpu_time(queue, j, stream);
  }
  if (us < 0) return 1;
  gpu_download(j->host.out, j->device.out, 2 * query_elements(&j->problem, &j->problem.out));
  if (j->problem.lse) gpu_download(j->host.lse, j->device.lse, 4 * query_rows(&j->problem));
  error = largest_error(&j->problem, &j->host);
  print_problem(&asked);
  if (kernel.measured_us > 0)
    snprintf(tuned, sizeof(tuned), "%.2f", kernel.measured_us * (double)j->info.launches);
  printf("%-10s %-10s %8d %10.2e %8.2f %10s  %s\n", kernel.kernel, fits[j->info.fit],
         (int)j->info.launches, error, us, tuned,
         error <= allowed_error(j->problem.dtype) ? "right" : "WRONG");
  free_tensors(j);
  return error <= allowed_error(j->problem.dtype) ? 0 : 1;
}

/* 0: right; 1: wrong or failed. */
static int run_problem(fatune_rt *wisdom, const fatune_rt_problem *problem, gpu_stream stream) {
  const fatune_rt_options options = {0, 1};
  fatune_rt_error error;
  job j;
  memset(&j, 0, sizeof(j));
  j.problem = *problem;
  if (!has_reference(problem)) {
    print_problem(problem);
    printf("left out: this example knows f16 and bf16, and no mask but causal\n");
    return 0;
  }
  if (fatune_rt_find(wisdom, problem, &options, &j.plan, &error) != FATUNE_RT_OK) {
    fprintf(stderr, "%s: %s\n", fatune_rt_status_name(error.status), error.message);
    return 1;
  }
  fatune_rt_describe(j.plan, &j.info);
  return run_job(wisdom, &j, stream);
}

/* Each kernel's own problem; of contiguous tensors also its batches as heads, and twice as many
 * batches. */
static int run_all(fatune_rt *wisdom, gpu_stream stream) {
  const size_t count = fatune_rt_count(wisdom);
  int wrong = 0;
  size_t i;
  for (i = 0; i < count; ++i) {
    fatune_rt_kernel_info kernel;
    fatune_rt_problem problem;
    if (fatune_rt_kernel(wisdom, i, &kernel, NULL) != FATUNE_RT_OK) return 1;
    problem = kernel.tuned;
    wrong |= run_problem(wisdom, &problem, stream);
    if (!is_contiguous(&problem)) continue;
    problem.heads *= problem.batch;
    problem.kv_heads *= problem.batch;
    problem.batch = 1;
    if (kernel.tuned.batch > 1) wrong |= run_problem(wisdom, &problem, stream);
    problem = kernel.tuned;
    problem.batch *= 2;
    wrong |= run_problem(wisdom, &problem, stream);
  }
  return wrong;
}

static void list(fatune_rt *wisdom) {
  const size_t count = fatune_rt_count(wisdom);
  size_t i;
  for (i = 0; i < count; ++i) {
    fatune_rt_kernel_info kernel;
    if (fatune_rt_kernel(wisdom, i, &kernel, NULL) != FATUNE_RT_OK) return;
    print_problem(&kernel.tuned);
    printf("%-10s %-7s ", kernel.kernel, kernel.arch);
    if (kernel.measured_us > 0) {
      printf("%8.2f us on %s%s", kernel.measured_us, kernel.device,
             kernel.recorded ? ", recorded" : "");
    } else {
      printf("not measured");
    }
    printf("%s\n", kernel.verified ? "" : ", NOT VERIFIED");
  }
}

/* Not 0 when the words are no problem. */
static int parse(int count, char **words, fatune_rt_problem *problem) {
  int64_t *const sizes[6] = {&problem->batch, &problem->heads,  &problem->kv_heads,
                             &problem->seq_q, &problem->seq_kv, &problem->head_dim};
  int i;
  memset(problem, 0, sizeof(*problem));
  problem->dtype = FATUNE_RT_F16;
  if (count < 6) return 1;
  for (i = 0; i < 6; ++i) {
    char *end = words[i];
    *sizes[i] = strtoll(words[i], &end, 10);
    if (*end != '\0' || end == words[i]) return 1;
  }
  for (; i < count; ++i) {
    if (strcmp(words[i], "bf16") == 0) {
      problem->dtype = FATUNE_RT_BF16;
    } else if (strcmp(words[i], "causal") == 0) {
      problem->mask = "causal";
    } else if (strcmp(words[i], "lse") == 0) {
      problem->lse = 1;
    } else if (strcmp(words[i], "f16") != 0) {
      return 1;
    }
  }
  return 0;
}

int main(int argc, char **argv) {
  fatune_rt *wisdom = NULL;
  fatune_rt_error error;
  fatune_rt_problem problem;
  const char *missing;
  gpu_stream stream;
  int failed;
  if (argc < 2 || (argc > 2 && parse(argc - 2, argv + 2, &problem))) {
    fprintf(stderr, "usage: %s FOLDER [batch heads kv_heads seq_q seq_kv head_dim "
                    "[f16|bf16] [causal] [lse]]\n", argv[0]);
    return 2;
  }
  if (fatune_rt_open(argv[1], &wisdom, &error) != FATUNE_RT_OK) {
    fprintf(stderr, "%s: %s\n", fatune_rt_status_name(error.status), error.message);
    return 1;
  }
  missing = gpu_open();
  if (missing != NULL) {
    list(wisdom);
    fprintf(stderr, "%s: nothing was launched\n", missing);
    fatune_rt_close(wisdom);
    return 3;
  }
  printf("%s, libfatune_rt %s\n", gpu_name(), fatune_rt_version());
  printf("%-50s%-10s %-10s %8s %10s %8s %10s\n", "problem", "kernel", "fit", "launches", "error",
         "hot us", "tuned us");
  stream = gpu_new_stream();
  failed = argc > 2 ? run_problem(wisdom, &problem, stream) : run_all(wisdom, stream);
  fatune_rt_close(wisdom);
  return failed;
}
