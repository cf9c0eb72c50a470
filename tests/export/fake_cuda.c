// fake_cuda.c: Writes the driver calls of an exported header to stdout instead of doing them.
/*
 * FAKE_ARGUMENTS says what each stage's arguments are, as the driver cannot know: "ppm,pi" is two
 * pointers and a tensor map, then a pointer and an int; l is a long long. FAKE_FAILS names a call that fails. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuda.h>

/* Functions are numbered from 1 in the order in which they were asked for. */
static int functions = 0;

static CUresult outcome(const char *call) {
  const char *fails = getenv("FAKE_FAILS");
  return fails != NULL && strcmp(fails, call) == 0 ? CUDA_ERROR_NO_BINARY_FOR_GPU : CUDA_SUCCESS;
}

static int number_of(CUfunction function) { return (int)(uintptr_t)function; }

CUresult CUDAAPI cuModuleLoadData(CUmodule *module, const void *image) {
  const unsigned char *bytes = (const unsigned char *)image;
  printf("load %02x%02x%02x%02x aligned %d\n", bytes[0], bytes[1], bytes[2], bytes[3],
         (uintptr_t)image % 8 == 0);
  *module = (CUmodule)(uintptr_t)1;
  return outcome("load");
}

CUresult CUDAAPI cuModuleUnload(CUmodule module) {
  printf("unload %d\n", (int)(uintptr_t)module);
  return outcome("unload");
}

CUresult CUDAAPI cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
  (void)module;
  *function = (CUfunction)(uintptr_t)++functions;
  printf("function %d %s\n", functions, name);
  return outcome("function");
}

CUresult CUDAAPI cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute,
                                    int value) {
  printf("attribute %d %d %d\n", number_of(function), (int)attribute, value);
  return outcome("attribute");
}

CUresult CUDAAPI cuTensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType type,
                                        cuuint32_t rank, void *address, const cuuint64_t *sizes,
                                        const cuuint64_t *strides, const cuuint32_t *box,
                                        const cuuint32_t *steps,
                                        CUtensorMapInterleave interleave,
                                        CUtensorMapSwizzle swizzle,
                                        CUtensorMapL2promotion promotion,
                                        CUtensorMapFloatOOBfill fill) {
  const uint64_t tensor = (uint64_t)(uintptr_t)address;
  printf("map %d rank %u of %llu aligned %d sizes", (int)type, rank, (unsigned long long)tensor,
         (uintptr_t)map % 64 == 0);
  for (cuuint32_t i = 0; i < rank; ++i) printf(" %llu", (unsigned long long)sizes[i]);
  printf(" strides");
  for (cuuint32_t i = 0; i + 1 < rank; ++i) printf(" %llu", (unsigned long long)strides[i]);
  printf(" box");
  for (cuuint32_t i = 0; i < rank; ++i) printf(" %u", box[i]);
  printf(" steps");
  for (cuuint32_t i = 0; i < rank; ++i) printf(" %u", steps[i]);
  printf(" %d %d %d %d\n", (int)interleave, (int)swizzle, (int)promotion, (int)fill);
  memcpy(map, &tensor, sizeof(tensor));
  return outcome("map");
}

/* The stage's part of FAKE_ARGUMENTS. */
static const char *kinds_of(int stage) {
  const char *text = getenv("FAKE_ARGUMENTS");
  for (; text != NULL && stage > 1; --stage) text = strchr(text, ',') + 1;
  return text == NULL ? "" : text;
}

static void print_attributes(const CUlaunchConfig *config) {
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    const CUlaunchAttribute *attribute = &config->attrs[i];
    if (attribute->id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
      printf(" cluster %u %u %u", attribute->value.clusterDim.x, attribute->value.clusterDim.y,
             attribute->value.clusterDim.z);
    } else if (attribute->id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION) {
      printf(" dependent %d", attribute->value.programmaticStreamSerializationAllowed);
    } else {
      printf(" attribute %d", (int)attribute->id);
    }
  }
}

CUresult CUDAAPI cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function,
                                  void **arguments, void **extra) {
  const char *kind = kinds_of(number_of(function));
  printf("launch %d grid %u %u %u block %u %u %u shared %u stream %d extra %d",
         number_of(function), config->gridDimX, config->gridDimY, config->gridDimZ,
         config->blockDimX, config->blockDimY, config->blockDimZ, config->sharedMemBytes,
         (int)(uintptr_t)config->hStream, extra != NULL);
  print_attributes(config);
  printf(" arguments");
  for (int i = 0; kind[i] != '\0' && kind[i] != ','; ++i) {
    uint64_t value = 0;
    memcpy(&value, arguments[i], kind[i] == 'i' ? 4 : sizeof(value));
    printf(" %c%llu", kind[i], (unsigned long long)value);
  }
  printf("\n");
  return outcome("launch");
}
