// cuda.cpp: Fakes libcuda.so.1 with one GPU that has facts and runs nothing. With
// FATUNE_FAKE_GPU=hostile the GPU's name lists successful attempts.
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "attempts.hpp"

namespace {

constexpr int kSuccess = 0;
constexpr int kNotSupported = 801;

/// Value of a CUdevice_attribute; 0 for attributes that no test reads.
int attribute(int which) {
  switch (which) {
    case 1:  // threads of a block
      return 1024;
    case 12:  // registers of a block
    case 82:  // and of a multiprocessor
      return 65536;
    case 39:  // threads of a multiprocessor
      return 2048;
    case 75:  // compute capability, major
      return 9;
    case 16:  // multiprocessors
      return 132;
    case 97:  // shared memory a block may ask for
      return 232448;
    case 81:  // and of a multiprocessor
      return 233472;
    case 106:  // blocks of a multiprocessor
      return 32;
    default:
      return 0;
  }
}

}  // namespace

extern "C" {

int cuInit(unsigned) { return kSuccess; }
int cuDriverGetVersion(int* version) { return *version = 13000, kSuccess; }
int cuGetErrorName(int, const char** name) { return *name = "FAKE", kSuccess; }
int cuGetErrorString(int, const char** text) { return *text = "a fake", kSuccess; }
int cuDeviceGetCount(int* count) { return *count = 1, kSuccess; }
int cuDeviceGet(int* device, int) { return *device = 0, kSuccess; }
int cuDeviceGetName(char* name, int size, int) {
  const char* state = std::getenv("FATUNE_FAKE_GPU");
  const bool hostile = state != nullptr && std::strcmp(state, "hostile") == 0;
  const std::string text = hostile ? "could" + attempts::succeeded() : "NVIDIA Fake";
  return std::snprintf(name, static_cast<std::size_t>(size), "%s", text.c_str()), kSuccess;
}
int cuDeviceGetUuid_v2(char* uuid, int) { return std::memset(uuid, 7, 16), kSuccess; }
int cuDeviceGetPCIBusId(char* id, int size, int) {
  return std::snprintf(id, static_cast<std::size_t>(size), "0000:1B:00.0"), kSuccess;
}
int cuDeviceGetAttribute(int* value, int which, int) { return *value = attribute(which), kSuccess; }
int cuDeviceTotalMem_v2(std::size_t* bytes, int) {
  return *bytes = std::size_t{140} << 30, kSuccess;
}

// A device worker greets with these functions, and then finds no memory.
int cuDevicePrimaryCtxRetain(void** context, int) { return *context = &context, kSuccess; }
int cuDevicePrimaryCtxRelease_v2(int) { return kSuccess; }
int cuCtxSetCurrent(void*) { return kSuccess; }
int cuStreamCreate(void** stream, unsigned) { return *stream = &stream, kSuccess; }
int cuStreamDestroy_v2(void*) { return kSuccess; }
int cuEventCreate(void** event, unsigned) { return *event = &event, kSuccess; }
int cuEventDestroy_v2(void*) { return kSuccess; }
int cuEventRecord(void*, void*) { return kSuccess; }
int cuEventQuery(void*) { return kSuccess; }
int cuEventElapsedTime(float* ms, void*, void*) { return *ms = 0.01F, kSuccess; }
int cuStreamQuery(void*) { return kSuccess; }
int cuStreamSynchronize(void*) { return kSuccess; }
int cuMemHostAlloc(void** memory, std::size_t bytes, unsigned) {
  return *memory = std::malloc(bytes), kSuccess;
}
int cuMemFreeHost(void* memory) { return std::free(memory), kSuccess; }

// Required functions of a driver that no test calls.
#define FAKE(name) \
  int name() { return kNotSupported; }
FAKE(cuMemGetInfo_v2)
FAKE(cuMemAlloc_v2)
FAKE(cuMemFree_v2)
FAKE(cuMemcpyHtoDAsync_v2)
FAKE(cuMemcpyDtoHAsync_v2)
FAKE(cuMemcpyDtoDAsync_v2)
FAKE(cuMemsetD8Async)
FAKE(cuModuleLoadDataEx)
FAKE(cuModuleUnload)
FAKE(cuModuleGetFunction)
FAKE(cuModuleGetGlobal_v2)
FAKE(cuFuncGetAttribute)
FAKE(cuFuncSetAttribute)
FAKE(cuOccupancyMaxActiveBlocksPerMultiprocessor)
FAKE(cuOccupancyMaxActiveClusters)
FAKE(cuLaunchKernelEx)
FAKE(cuStreamBeginCapture_v2)
FAKE(cuStreamEndCapture)
FAKE(cuGraphDestroy)
FAKE(cuGraphInstantiateWithFlags)
FAKE(cuGraphExecDestroy)
FAKE(cuGraphUpload)
FAKE(cuGraphLaunch)
#undef FAKE

}  // extern "C"
