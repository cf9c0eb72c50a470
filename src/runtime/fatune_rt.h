// fatune_rt.h: Finds and launches the attention kernel for a problem from a folder of wisdom.
/* `fatune export --to wisdom` writes the folder. libfatune_rt opens it, checks every byte against
 * its hashes, chooses the kernel for a problem and launches it. The library is linked to nothing of
 * CUDA; fatune_rt_find needs the NVIDIA driver, 525 or newer.
 *
 *   fatune_rt *wisdom;
 *   fatune_rt_error error;
 *   if (fatune_rt_open("wisdom", &wisdom, &error) != FATUNE_RT_OK) complain(error.message);
 *
 *   fatune_rt_problem problem = {4, 8, 8, 512, 512, 64, FATUNE_RT_F16};
 *   const fatune_rt_plan *plan;
 *   if (fatune_rt_find(wisdom, &problem, NULL, &plan, &error) != FATUNE_RT_OK) fall_back();
 *
 *   fatune_rt_tensors tensors = {q, k, v, out};
 *   if (fatune_rt_launch(plan, &tensors, stream, &error) != FATUNE_RT_OK) complain(error.message);
 *
 *   fatune_rt_close(wisdom);
 *
 * Threads: any number of threads may use one handle at once; fatune_rt_close must come after all
 * other calls. The library keeps no state outside its handles.
 *
 * Errors: every function that can fail returns a status. A failure fills `error` unless it is null,
 * and leaves the output arguments unchanged. Nothing is printed.
 *
 * Contexts: fatune_rt_find and fatune_rt_launch use the CUDA context that is current on the calling
 * thread (from cudaSetDevice, PyTorch or cuCtxSetCurrent). One handle serves any number of devices
 * and contexts.
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

/* Increases when a struct or function of this header changes its meaning or layout. */
#define FATUNE_RT_ABI 5

/* Returns FATUNE_RT_ABI of the loaded library. A program that opens the library by dlopen should
 * compare it with the header's before any other call; linked programs rely on the soname. */
FATUNE_RT_API int fatune_rt_abi(void);

/* Returns the version of the library: "0.1.0". */
FATUNE_RT_API const char *fatune_rt_version(void);

typedef struct fatune_rt fatune_rt;           /* an open folder of wisdom */
typedef struct fatune_rt_plan fatune_rt_plan; /* a kernel chosen for a problem and a device */

/* The type that CUstream and cudaStream_t point to. Null is the default stream. */
struct CUstream_st;

typedef enum fatune_rt_status {
  FATUNE_RT_OK = 0,
  FATUNE_RT_BAD_ARGUMENT = 1,  /* the message names the argument or field */
  FATUNE_RT_NO_KERNEL = 2,     /* no kernel of the folder may serve the problem */
  FATUNE_RT_OTHER_DEVICE = 3,  /* a kernel exists for other devices only; see the message */
  FATUNE_RT_BAD_FILE = 4,      /* a file is missing, unreadable or invalid */
  FATUNE_RT_TAMPERED = 5,      /* a file differs from the export: its hash is wrong */
  FATUNE_RT_NO_DRIVER = 6,     /* the NVIDIA driver is missing or too old, or has no device */
  FATUNE_RT_DRIVER_FAILED = 7, /* a driver call failed; `driver_code` has its CUresult */
  FATUNE_RT_OUT_OF_MEMORY = 8  /* host memory */
} fatune_rt_status;

/* Returns the name: "FATUNE_RT_NO_KERNEL" for 2; never null. */
FATUNE_RT_API const char *fatune_rt_status_name(fatune_rt_status status);

typedef struct fatune_rt_error {
  fatune_rt_status status;
  int32_t driver_code; /* a CUresult; 0 if no driver call failed */
  char message[504];   /* names the file, field or call; null-terminated */
} fatune_rt_error;

typedef enum fatune_rt_dtype {
  FATUNE_RT_F16 = 1,
  FATUNE_RT_BF16 = 2,
  FATUNE_RT_E4M3 = 3,
  FATUNE_RT_E5M2 = 4
} fatune_rt_dtype;

/* Strides of a tensor in elements; the elements of a row are contiguous. All 0: contiguous in the
 * order (batch, heads, rows, columns). */
typedef struct fatune_rt_strides {
  int64_t batch, head, row;
} fatune_rt_strides;

/* out = softmax(scale * q k^T) v under a mask, forward. q is (batch, heads, seq_q, head_dim), k
 * (batch, kv_heads, seq_kv, head_dim), v (batch, kv_heads, seq_kv, value_dim) and out
 * (batch, heads, seq_q, value_dim), all of one element type. What is 0 or null is absent.
 *
 * mask, bias and score are the texts of `fatune sweep` (docs/attention.md), and must say what the
 * kernel computes. Lengths are read at run time, so their numbers are not compared: "causal+padding"
 * has none, and "document:9,9" only says that there are two documents. A kernel for more documents
 * than there are takes the end once more for each. tensors declares those that mask and score read
 * by name, in any order, with spaces between. Functions keep no pointer to a text. */
typedef struct fatune_rt_problem {
  int64_t batch, heads, kv_heads, seq_q, seq_kv, head_dim; /* at least 1; kv_heads divides heads */
  int32_t dtype;                                           /* a fatune_rt_dtype */
  int32_t lse; /* not 0: also write each row's log-sum-exp, fp32, (batch, heads, seq_q) */
  const char *mask;  /* "causal", "window:64,64", "causal && (k < 4 || q - k < 128)"; null: none */
  const char *bias;  /* shape, type and strides: "1,16,512,512:f32"; null: none */
  const char *score; /* what scores become: "score + 0.5 * (k - q)"; null: they stay */
  const char *tensors; /* "doc=i32[4096] table=f32[16][1023]"; null: none */
  double softcap;    /* scores become softcap * tanh(score / softcap), before a bias; 0: none */
  double scale;      /* 0: 1 / sqrt(head_dim); must equal the scale compiled into the kernel */
  int64_t value_dim; /* 0: head_dim */
  int32_t alibi;     /* not 0: scores fall by alibi[head] * distance of query and key */
  int32_t sink;      /* not 0: the softmax of a row has one more term, exp(sink[head]) */
  /* Must equal the strides compiled into the kernel. A packed qkv projection, (batch, seq, heads +
   * 2 kv_heads, head_dim), has seq * row, head_dim, row = (heads + 2 kv_heads) * head_dim. */
  fatune_rt_strides q, k, v, out;
} fatune_rt_problem;

/* Opens a folder and checks every file of its index against its SHA-256. All files are read, so
 * later changes of the folder have no effect. Needs no driver and no device.
 * BAD_ARGUMENT, BAD_FILE, TAMPERED, OUT_OF_MEMORY. */
FATUNE_RT_API fatune_rt_status fatune_rt_open(const char *folder, fatune_rt **wisdom,
                                              fatune_rt_error *error);

/* Frees a handle with its plans and loaded kernels. Launched kernels must have ended, and graphs
 * with them must not be launched any more. Null is ignored. */
FATUNE_RT_API void fatune_rt_close(fatune_rt *wisdom);

/* Returns the number of kernels in the folder. */
FATUNE_RT_API size_t fatune_rt_count(const fatune_rt *wisdom);

typedef struct fatune_rt_kernel_info {
  const char *kernel;      /* "fa_wgmma" */
  const char *id;          /* the candidate's id in best.json */
  const char *config;      /* parameters and their values, a JSON object */
  const char *arch;        /* "sm_90a" */
  const char *device;      /* GPU of the measurement, "NVIDIA H200" */
  const char *command;     /* command that found the kernel */
  fatune_rt_problem tuned; /* problem that the kernel was compiled and measured for */
  double measured_us;      /* one launch, back to back; 0: not measured */
  int32_t verified;        /* 0: exported with --unverified */
  int32_t recorded;        /* not 0: times come from a recording, not from a device */
} fatune_rt_kernel_info;

/* The strings, those of `tuned` too, live as long as the handle. BAD_ARGUMENT if
 * index >= fatune_rt_count. */
FATUNE_RT_API fatune_rt_status fatune_rt_kernel(const fatune_rt *wisdom, size_t index,
                                                fatune_rt_kernel_info *info,
                                                fatune_rt_error *error);

typedef struct fatune_rt_options {
  int32_t max_launches;     /* launches of a smaller kernel in sequence; 0: 16; 1: no repetition */
  int32_t allow_unverified; /* not 0: kernels exported with --unverified may be chosen */
} fatune_rt_options;

/* Finds the plan for a problem on the current context's device. Kernels are compiled for exact
 * sizes and strides, so a kernel is only chosen if it provably computes the problem. In order:
 *   1. a kernel for the problem in its layout;
 *   2. a kernel for the same bytes regrouped: 4 x 8 heads as 32 x 1 heads, or, without a mask,
 *      query heads that share keys as more rows of one head;
 *   3. a kernel for an n-th of the heads, launched n times at offsets, the fewest launches first.
 * 2 and 3 need contiguous tensors, and neither optional tensors nor expressions. Among equals the
 * fastest measured kernel is chosen. The first call for a kernel and device loads the kernel, so a
 * program may call it before a stream capture.
 * Null `options` are zeros. The plan lives as long as the handle.
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

/* Memory of the current context's device, aligned to 16 bytes; lengths, alibi, sink and named to an
 * element. Tensors that the problem has not are null. */
typedef struct fatune_rt_tensors {
  const void *q, *k, *v;
  void *out;
  float *lse;
  void *scratch; /* scratch_bytes, aligned to 256 bytes; null: see fatune_rt_launch */
  size_t scratch_bytes;
  const void *bias;       /* a number below -1e29, or a zero byte of ":bool", hides its key */
  const int32_t *lengths; /* padding: (batch) keys; document: where each begins, and the end */
  const float *alibi;     /* (heads) */
  const void *sink;       /* (heads), of q's type */
  const void *const *named; /* an address for each of the problem's `tensors`, in their order */
} fatune_rt_tensors;

/* Queues the kernel, which reads and writes the tensors in stream order. The device must be the one
 * that the plan was found for. The launch may be captured into a CUDA graph.
 *
 * A plan with scratch_bytes > 0 needs scratch memory, whose content need not be kept between
 * launches. If `scratch` is null, the library allocates and frees it in stream order
 * (cuMemAllocAsync; memory nodes in a graph). Concurrent launches must not share scratch.
 *
 * Some kernels start while the preceding kernel of the stream ends, and wait for it before they
 * read or write (programmatic dependent launch). Stream order holds.
 * BAD_ARGUMENT, DRIVER_FAILED, OUT_OF_MEMORY. */
FATUNE_RT_API fatune_rt_status fatune_rt_launch(const fatune_rt_plan *plan,
                                                const fatune_rt_tensors *tensors,
                                                struct CUstream_st *stream,
                                                fatune_rt_error *error);

/* Calls fatune_rt_find without options and fatune_rt_launch. */
FATUNE_RT_API fatune_rt_status fatune_rt_run(fatune_rt *wisdom, const fatune_rt_problem *problem,
                                             const fatune_rt_tensors *tensors,
                                             struct CUstream_st *stream, fatune_rt_error *error);

/* Returns the index of the kernel tuned for the most similar problem of the element type, by mask,
 * head_dim, lengths and heads. The kernel may not fit: its config is a start for tuning `problem`.
 * Needs no driver. NO_KERNEL if no kernel has the element type. */
FATUNE_RT_API fatune_rt_status fatune_rt_nearest(const fatune_rt *wisdom,
                                                 const fatune_rt_problem *problem, size_t *index,
                                                 fatune_rt_error *error);

#ifdef __cplusplus
}
#endif

#endif
