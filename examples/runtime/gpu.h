// gpu.h: Declares the calls of the CUDA driver that the example makes, without linking it.
/*
 * A program of yours includes cuda.h and links -lcuda, or uses the CUDA runtime. The example opens
 * the driver itself, so that it builds without CUDA and starts without a GPU. */
#ifndef GPU_H
#define GPU_H

#include <stddef.h>

typedef struct CUstream_st *gpu_stream;

/* Opens the driver and makes the first device's context current. Null, or why it could not. */
const char *gpu_open(void);
const char *gpu_name(void);
gpu_stream gpu_new_stream(void);

void *gpu_allocate(size_t bytes);
void gpu_free(void *memory);
void gpu_upload(void *device, const void *host, size_t bytes);
void gpu_download(void *host, const void *device, size_t bytes);
void gpu_fill(void *device, unsigned char value, size_t bytes);

/* Queues its work on the stream; not 0 when that failed. */
typedef int (*gpu_work)(void *context, gpu_stream stream);

/* Microseconds of one call's work: a CUDA graph of 20 calls, launched again and again, the median of
 * 15. Negative when the work could not be queued. */
double gpu_time(gpu_work work, void *context, gpu_stream stream);

#endif
