// gpu.c: Opens libcuda.so.1 and wraps a few of its calls; a call that fails ends the program.
#define _POSIX_C_SOURCE 200809L
#include "gpu.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define CALLS_IN_GRAPH 20
#define ROUNDS 15

typedef unsigned long long device_pointer;
typedef struct CUctx_st *context_handle;
typedef struct CUevent_st *event_handle;
typedef struct CUgraph_st *graph_handle;
typedef struct CUgraphExec_st *graph_exec_handle;

static struct {
  int (*init)(unsigned);
  int (*device)(int *, int);
  int (*device_name)(char *, int, int);
  int (*context_retain)(context_handle *, int);
  int (*context_set)(context_handle);
  int (*error_name)(int, const char **);
  int (*allocate)(device_pointer *, size_t);
  int (*free)(device_pointer);
  int (*upload)(device_pointer, const void *, size_t);
  int (*download)(void *, device_pointer, size_t);
  int (*fill)(device_pointer, unsigned char, size_t);
  int (*stream)(gpu_stream *, unsigned);
  int (*stream_wait)(gpu_stream);
  int (*event)(event_handle *, unsigned);
  int (*event_record)(event_handle, gpu_stream);
  int (*event_elapsed)(float *, event_handle, event_handle);
  int (*event_free)(event_handle);
  int (*capture_begin)(gpu_stream, int);
  int (*capture_end)(gpu_stream, graph_handle *);
  int (*instantiate)(graph_exec_handle *, graph_handle, unsigned long long);
  int (*graph_launch)(graph_exec_handle, gpu_stream);
  int (*graph_exec_free)(graph_exec_handle);
  int (*graph_free)(graph_handle);
} driver;

static void check(int code, const char *what) {
  const char *name = "an unknown error";
  if (code == 0) return;
  driver.error_name(code, &name);
  fprintf(stderr, "%s: %s\n", what, name);
  exit(1);
}

/* Stores the address of a symbol in a pointer to a function: C99 has no cast between the two. */
static int load(void *library, const char *symbol, void *function) {
  *(void **)function = dlsym(library, symbol);
  return *(void **)function != NULL;
}

static int load_all(void *library) {
  return load(library, "cuInit", &driver.init) && load(library, "cuDeviceGet", &driver.device) &&
         load(library, "cuDeviceGetName", &driver.device_name) &&
         load(library, "cuDevicePrimaryCtxRetain", &driver.context_retain) &&
         load(library, "cuCtxSetCurrent", &driver.context_set) &&
         load(library, "cuGetErrorName", &driver.error_name) &&
         load(library, "cuMemAlloc_v2", &driver.allocate) &&
         load(library, "cuMemFree_v2", &driver.free) &&
         load(library, "cuMemcpyHtoD_v2", &driver.upload) &&
         load(library, "cuMemcpyDtoH_v2", &driver.download) &&
         load(library, "cuMemsetD8_v2", &driver.fill) &&
         load(library, "cuStreamCreate", &driver.stream) &&
         load(library, "cuStreamSynchronize", &driver.stream_wait) &&
         load(library, "cuEventCreate", &driver.event) &&
         load(library, "cuEventRecord", &driver.event_record) &&
         load(library, "cuEventElapsedTime", &driver.event_elapsed) &&
         load(library, "cuEventDestroy_v2", &driver.event_free) &&
         load(library, "cuStreamBeginCapture_v2", &driver.capture_begin) &&
         load(library, "cuStreamEndCapture", &driver.capture_end) &&
         load(library, "cuGraphInstantiateWithFlags", &driver.instantiate) &&
         load(library, "cuGraphLaunch", &driver.graph_launch) &&
         load(library, "cuGraphExecDestroy", &driver.graph_exec_free) &&
         load(library, "cuGraphDestroy", &driver.graph_free);
}

const char *gpu_open(void) {
  int device = 0;
  context_handle context = NULL;
  void *library = dlopen("libcuda.so.1", RTLD_NOW);
  if (library == NULL) return "no NVIDIA driver was found (libcuda.so.1 cannot be opened)";
  if (!load_all(library)) return "the NVIDIA driver is too old";
  if (driver.init(0) != 0 || driver.device(&device, 0) != 0) return "no GPU was found";
  check(driver.context_retain(&context, device), "cannot make a context");
  check(driver.context_set(context), "cannot use the context");
  return NULL;
}

const char *gpu_name(void) {
  static char name[256];
  check(driver.device_name(name, (int)sizeof(name), 0), "cannot ask for the device's name");
  return name;
}

gpu_stream gpu_new_stream(void) {
  gpu_stream stream = NULL;
  check(driver.stream(&stream, 1 /* does not wait for the default stream */), "cannot make a stream");
  return stream;
}

void *gpu_allocate(size_t bytes) {
  device_pointer memory = 0;
  check(driver.allocate(&memory, bytes), "cannot allocate device memory");
  return (void *)(uintptr_t)memory;
}

void gpu_free(void *memory) { check(driver.free((uintptr_t)memory), "cannot free device memory"); }

void gpu_upload(void *device, const void *host, size_t bytes) {
  check(driver.upload((uintptr_t)device, host, bytes), "cannot copy to the device");
}

void gpu_download(void *host, const void *device, size_t bytes) {
  check(driver.download(host, (uintptr_t)device, bytes), "cannot copy from the device");
}

void gpu_fill(void *device, unsigned char value, size_t bytes) {
  check(driver.fill((uintptr_t)device, value, bytes), "cannot fill device memory");
}

static int by_size(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median_time(graph_exec_handle graph, gpu_stream stream) {
  double times[ROUNDS];
  float milliseconds = 0;
  event_handle begin = NULL, end = NULL;
  int i;
  check(driver.event(&begin, 0), "cannot make an event");
  check(driver.event(&end, 0), "cannot make an event");
  for (i = -3; i < ROUNDS; ++i) { /* the first rounds warm up */
    check(driver.event_record(begin, stream), "cannot record an event");
    check(driver.graph_launch(graph, stream), "cannot launch the graph");
    check(driver.event_record(end, stream), "cannot record an event");
    check(driver.stream_wait(stream), "the kernel failed");
    check(driver.event_elapsed(&milliseconds, begin, end), "cannot read the time");
    if (i >= 0) times[i] = 1000.0 * (double)milliseconds / CALLS_IN_GRAPH;
  }
  check(driver.event_free(begin), "cannot free an event");
  check(driver.event_free(end), "cannot free an event");
  qsort(times, ROUNDS, sizeof(times[0]), by_size);
  return times[ROUNDS / 2];
}

double gpu_time(gpu_work work, void *context, gpu_stream stream) {
  graph_handle graph = NULL;
  graph_exec_handle executable = NULL;
  double us = -1;
  int failed = 0, i;
  check(driver.stream_wait(stream), "the work in front failed");
  check(driver.capture_begin(stream, 1 /* of this thread */), "cannot capture the stream");
  for (i = 0; i < CALLS_IN_GRAPH && !failed; ++i) failed = work(context, stream);
  check(driver.capture_end(stream, &graph), "cannot end the capture");
  if (!failed) {
    check(driver.instantiate(&executable, graph, 0), "cannot make the graph ready");
    us = median_time(executable, stream);
    check(driver.graph_exec_free(executable), "cannot free the graph");
  }
  check(driver.graph_free(graph), "cannot free the graph");
  return us;
}
