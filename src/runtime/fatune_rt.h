/* fatune_rt.h - a folder of wisdom and a problem to an attention kernel, launched on a stream.
 *
 * The folder comes from `fatune export --to wisdom`. libfatune_rt opens it, checks every byte of it
 * against its hashes, picks the kernel for a problem and launches it. It needs the NVIDIA driver
 * (525 or newer) when a kernel is looked for, and nothing else of CUDA; it is not linked to it.
 *
 *   fatune_rt *wisdom;
 *   fatune_rt_error error;
 *   if (fatune_rt_open("wisdom", &wisdom, &error) != FATUNE_RT_OK) complain(error.message);
 *
 *   fatune_rt_problem problem = {4, 8, 8, 512, 512, 64, FATUNE_RT_F16, FATUNE_RT_MASK_NONE};
 *   const fatune_rt_plan *plan;
 *   if (fatune_rt_find(wisdom, &problem, NULL, &plan, &error) != FATUNE_RT_OK) fall_back();
 *
 *   fatune_rt_tensors tensors = {q, k, v, out, NULL, NULL, 0};
 *   if (fatune_rt_launch(plan, &tensors, stream, &error) != FATUNE_RT_OK) complain(error.message);
 *
 *   fatune_rt_close(wisdom);
 *
 * Threads: after fatune_rt_open any number of threads may use one handle at once; fatune_rt_close
 * must come after all of them. The library keeps no state outside its handles.
 *
 * Errors: every function that can fail returns a status; when it is not FATUNE_RT_OK and `error` is
 * not null, it fills that. Nothing is printed, and no output argument is touched after a failure.
 *
 * Contexts: fatune_rt_find and fatune_rt_launch use the CUDA context that is current on the calling
 * thread (that of cudaSetDevice, of PyTorch, or of cuCtxSetCurrent). One handle serves any number
 * of devices and contexts.
 */
#ifndef FATUNE_RT_H
#define FATUNE_RT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define FATUNE_RT_API __attribute__((visibility("default")))
#else
#define FATUNE_RT_API
#endif

/* Counts up when a struct or a function of this header changes its meaning or layout. */
#define FATUNE_RT_ABI 2

/* FATUNE_RT_ABI of the library that is loaded. A program that opens the library itself should
 * compare the two before any other call; otherwise the library's soname sees to it. */
FATUNE_RT_API int fatune_rt_abi(void);

/* Version of the library, say "0.1.0". */
FATUNE_RT_API const char *fatune_rt_version(void);

typedef struct fatune_rt fatune_rt;           /* an open folder of wisdom */
typedef struct fatune_rt_plan fatune_rt_plan; /* a kernel chosen for a problem and a device */

/* What a CUstream and a cudaStream_t point to. Null is the default stream. */
struct CUstream_st;

typedef enum fatune_rt_status {
  FATUNE_RT_OK = 0,
  FATUNE_RT_BAD_ARGUMENT = 1,  /* the message names the argument or field */
  FATUNE_RT_NO_KERNEL = 2,     /* the folder has none that may serve the problem */
  FATUNE_RT_OTHER_DEVICE = 3,  /* it has one, but for other devices: the message says why */
  FATUNE_RT_BAD_FILE = 4,      /* a file is missing, cannot be read or is not what it should be */
  FATUNE_RT_TAMPERED = 5,      /* a file is not what was exported: its hash differs */
  FATUNE_RT_NO_DRIVER = 6,     /* no NVIDIA driver, one that is too old, or no device */
  FATUNE_RT_DRIVER_FAILED = 7, /* a call of the driver failed; `driver_code` has its CUresult */
  FATUNE_RT_OUT_OF_MEMORY = 8  /* of the host */
} fatune_rt_status;

/* "FATUNE_RT_NO_KERNEL" for 2; never null. */
FATUNE_RT_API const char *fatune_rt_status_name(fatune_rt_status status);

typedef struct fatune_rt_error {
  fatune_rt_status status;
  int32_t driver_code; /* a CUresult; 0 when no call of the driver failed */
  char message[504];   /* for people; names the file, field or call; always ends with a 0 */
} fatune_rt_error;

typedef enum fatune_rt_dtype {
  FATUNE_RT_F16 = 1,
  FATUNE_RT_BF16 = 2,
  FATUNE_RT_E4M3 = 3,
  FATUNE_RT_E5M2 = 4
} fatune_rt_dtype;

typedef enum fatune_rt_mask {
  FATUNE_RT_MASK_NONE = 0,
  /* Aligned bottom-right: query i sees key j when j <= i + seq_kv - seq_q. */
  FATUNE_RT_MASK_CAUSAL = 1
} fatune_rt_mask;

/* Elements from one batch entry, head and row of a tensor to the next; the head_dim elements of a
 * row lie side by side. All 0: contiguous in the order (batch, heads, rows, head_dim). */
typedef struct fatune_rt_strides {
  int64_t batch, head, row;
} fatune_rt_strides;

/* out = softmax(scale * q k^T + mask) v, forward. q and out are (batch, heads, seq_q, head_dim), k
 * and v (batch, kv_heads, seq_kv, head_dim), all of one element type. */
typedef struct fatune_rt_problem {
  int64_t batch, heads, kv_heads, seq_q, seq_kv, head_dim; /* each 1 or more; kv_heads | heads */
  int32_t dtype;                                           /* a fatune_rt_dtype */
  int32_t mask;                                            /* a fatune_rt_mask */
  int32_t lse; /* not 0: also wanted is the log-sum-exp of each row, fp32, (batch, heads, seq_q) */
  float scale; /* 0: 1 / sqrt(head_dim). A kernel has its scale compiled in; it must be this one */
  /* Compiled in, too. Those of rows that a product over packed weights leaves, (batch, seq, heads +
   * 2 kv_heads, head_dim), are seq * row, head_dim, row = (heads + 2 kv_heads) * head_dim. */
  fatune_rt_strides q, k, v, out;
} fatune_rt_problem;

/* Opens a folder and checks every file named in its index against its SHA-256. Reads all of it, so
 * later changes of the folder have no effect. Needs no driver and no device.
 * BAD_ARGUMENT, BAD_FILE, TAMPERED, OUT_OF_MEMORY. */
FATUNE_RT_API fatune_rt_status fatune_rt_open(const char *folder, fatune_rt **wisdom,
                                              fatune_rt_error *error);

/* Gives back all of a handle, its plans and loaded kernels included. Kernels that were launched
 * must have ended, and graphs that hold them must not be launched any more. Null is ignored. */
FATUNE_RT_API void fatune_rt_close(fatune_rt *wisdom);

/* How many kernels the folder holds. */
FATUNE_RT_API size_t fatune_rt_count(const fatune_rt *wisdom);

typedef struct fatune_rt_kernel_info {
  const char *kernel;      /* "fa_wgmma" */
  const char *id;          /* of the candidate, as in best.json */
  const char *config;      /* parameters and their values, a JSON object */
  const char *arch;        /* "sm_90a" */
  const char *device;      /* that it was measured on, "NVIDIA H200" */
  const char *command;     /* that found it */
  fatune_rt_problem tuned; /* the problem it was compiled and measured for */
  double measured_us;      /* of one launch, back to back; 0: not measured */
  int32_t verified;        /* 0: exported with --unverified */
  int32_t recorded;        /* not 0: found by replaying a recording, not on a device */
} fatune_rt_kernel_info;

/* The strings live as long as the handle. BAD_ARGUMENT when index >= fatune_rt_count. */
FATUNE_RT_API fatune_rt_status fatune_rt_kernel(const fatune_rt *wisdom, size_t index,
                                                fatune_rt_kernel_info *info,
                                                fatune_rt_error *error);

typedef struct fatune_rt_options {
  int32_t max_launches;     /* of a smaller kernel, one after the other; 0: 16; 1: no repetition */
  int32_t allow_unverified; /* not 0: kernels exported with --unverified may be chosen */
} fatune_rt_options;

/* The plan for a problem on the current context's device. Kernels are compiled for exact sizes and
 * strides, so only what is provably the same computation is ever chosen, the first of
 *   1. a kernel for this very problem, in its layout;
 *   2. a kernel for the same bytes seen otherwise: batches and heads regrouped (4 x 8 heads are 32
 *      x 1 heads), and without a mask query heads that share keys as more rows of one head;
 *   3. a kernel for an n-th of the heads, launched n times at offsets, the fewest launches first,
 *      these two for contiguous tensors only;
 * and among equals the fastest as measured. The first call for a kernel and device loads it, so
 * call it before a stream capture when that matters; later calls look it up. Null `options` are
 * zeros. The plan lives as long as the handle.
 * BAD_ARGUMENT, NO_KERNEL, OTHER_DEVICE, NO_DRIVER, DRIVER_FAILED, OUT_OF_MEMORY. */
FATUNE_RT_API fatune_rt_status fatune_rt_find(fatune_rt *wisdom, const fatune_rt_problem *problem,
                                              const fatune_rt_options *options,
                                              const fatune_rt_plan **plan, fatune_rt_error *error);

typedef enum fatune_rt_fit {
  FATUNE_RT_EXACT = 0,
  FATUNE_RT_REGROUPED = 1,
  FATUNE_RT_REPEATED = 2
} fatune_rt_fit;

typedef struct fatune_rt_plan_info {
  size_t kernel; /* index for fatune_rt_kernel */
  int32_t fit;   /* a fatune_rt_fit */
  int32_t launches;
  size_t scratch_bytes; /* 0 for most kernels */
} fatune_rt_plan_info;

FATUNE_RT_API void fatune_rt_describe(const fatune_rt_plan *plan, fatune_rt_plan_info *info);

/* Device memory of the current context's device, each pointer a multiple of 16 bytes. */
typedef struct fatune_rt_tensors {
  const void *q, *k, *v;
  void *out;
  float *lse;    /* null unless the problem has lse */
  void *scratch; /* of scratch_bytes, a multiple of 256 bytes; null: see fatune_rt_launch */
  size_t scratch_bytes;
} fatune_rt_tensors;

/* Queues the kernel and returns; it reads and writes the tensors in stream order. The device must
 * be the one that the plan was found for. May be captured into a CUDA graph.
 *
 * A plan with scratch_bytes > 0 needs scratch memory, whose contents mean nothing between launches.
 * With `scratch` null the library allocates and frees it in stream order (cuMemAllocAsync; memory
 * nodes in a graph). Launches that may run at the same time must not share scratch.
 *
 * Some kernels begin to prepare while the kernel in front of them on the stream ends, and wait for
 * it before they read or write (programmatic dependent launch); on the stream this is not seen.
 * BAD_ARGUMENT, DRIVER_FAILED, OUT_OF_MEMORY. */
FATUNE_RT_API fatune_rt_status fatune_rt_launch(const fatune_rt_plan *plan,
                                                const fatune_rt_tensors *tensors,
                                                struct CUstream_st *stream,
                                                fatune_rt_error *error);

/* fatune_rt_find without options and fatune_rt_launch in one. */
FATUNE_RT_API fatune_rt_status fatune_rt_run(fatune_rt *wisdom, const fatune_rt_problem *problem,
                                             const fatune_rt_tensors *tensors,
                                             struct CUstream_st *stream, fatune_rt_error *error);

/* Advice, never launched: index of the kernel tuned for the problem nearest to this one, of the
 * same element type, by mask, head_dim, lengths and heads. Its config is where tuning or compiling
 * for `problem` should begin. Needs no driver. NO_KERNEL when none has the element type. */
FATUNE_RT_API fatune_rt_status fatune_rt_nearest(const fatune_rt *wisdom,
                                                 const fatune_rt_problem *problem, size_t *index,
                                                 fatune_rt_error *error);

#ifdef __cplusplus
}
#endif

#endif
