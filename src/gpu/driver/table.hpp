// table.hpp: Declares the table of CUDA driver entry points and fills it from a symbol source.
#pragma once

#include <functional>
#include <string>

#include <cuda.h>

namespace fatune::gpu {

/// The library that needs an entry point: fatune itself, libfatune_rt, both, or neither.
enum class NeededBy { kBoth, kFatune, kRuntime, kNeither };

/// Member, function type, exported symbol, NeededBy. fatune needs functions up to CUDA 11.8,
/// libfatune_rt up to CUDA 12.0. cuda.h does not declare cuProfilerStart and cuProfilerStop, which
/// have the named type.
#define FATUNE_DRIVER_FUNCTIONS(X)                                                             \
  X(init, cuInit, "cuInit", kBoth)                                                             \
  X(driver_version, cuDriverGetVersion, "cuDriverGetVersion", kFatune)                         \
  X(error_name, cuGetErrorName, "cuGetErrorName", kBoth)                                       \
  X(error_string, cuGetErrorString, "cuGetErrorString", kBoth)                                 \
  X(device_count, cuDeviceGetCount, "cuDeviceGetCount", kFatune)                               \
  X(device, cuDeviceGet, "cuDeviceGet", kFatune)                                               \
  X(device_name, cuDeviceGetName, "cuDeviceGetName", kBoth)                                    \
  X(device_uuid, cuDeviceGetUuid, "cuDeviceGetUuid_v2", kFatune)                               \
  X(device_pci_bus_id, cuDeviceGetPCIBusId, "cuDeviceGetPCIBusId", kFatune)                    \
  X(device_attribute, cuDeviceGetAttribute, "cuDeviceGetAttribute", kBoth)                     \
  X(device_memory, cuDeviceTotalMem, "cuDeviceTotalMem_v2", kFatune)                           \
  X(context_retain, cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", kFatune)             \
  X(context_release, cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2", kFatune)       \
  X(context_set_current, cuCtxSetCurrent, "cuCtxSetCurrent", kFatune)                          \
  X(context_device, cuCtxGetDevice, "cuCtxGetDevice", kRuntime)                                \
  X(get_limit, cuCtxGetLimit, "cuCtxGetLimit", kNeither)                                       \
  X(set_limit, cuCtxSetLimit, "cuCtxSetLimit", kNeither)                                       \
  X(reset_persisting_l2, cuCtxResetPersistingL2Cache, "cuCtxResetPersistingL2Cache", kNeither) \
  X(stream_create, cuStreamCreate, "cuStreamCreate", kFatune)                                  \
  X(stream_destroy, cuStreamDestroy, "cuStreamDestroy_v2", kFatune)                            \
  X(stream_query, cuStreamQuery, "cuStreamQuery", kFatune)                                     \
  X(stream_synchronize, cuStreamSynchronize, "cuStreamSynchronize", kFatune)                   \
  X(stream_set_attribute, cuStreamSetAttribute, "cuStreamSetAttribute", kNeither)              \
  X(event_create, cuEventCreate, "cuEventCreate", kFatune)                                     \
  X(event_destroy, cuEventDestroy, "cuEventDestroy_v2", kFatune)                               \
  X(event_record, cuEventRecord, "cuEventRecord", kFatune)                                     \
  X(event_query, cuEventQuery, "cuEventQuery", kFatune)                                        \
  X(event_elapsed, cuEventElapsedTime, "cuEventElapsedTime", kFatune)                          \
  X(memory_info, cuMemGetInfo, "cuMemGetInfo_v2", kFatune)                                     \
  X(memory_allocate, cuMemAlloc, "cuMemAlloc_v2", kFatune)                                     \
  X(memory_free, cuMemFree, "cuMemFree_v2", kFatune)                                           \
  X(allocate_async, cuMemAllocAsync, "cuMemAllocAsync", kRuntime)                              \
  X(free_async, cuMemFreeAsync, "cuMemFreeAsync", kRuntime)                                    \
  X(host_allocate, cuMemHostAlloc, "cuMemHostAlloc", kFatune)                                  \
  X(host_free, cuMemFreeHost, "cuMemFreeHost", kFatune)                                        \
  X(copy_to_device, cuMemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2", kFatune)                        \
  X(copy_to_host, cuMemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2", kFatune)                          \
  X(copy_on_device, cuMemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2", kFatune)                        \
  X(set_bytes, cuMemsetD8Async, "cuMemsetD8Async", kFatune)                                    \
  X(module_load, cuModuleLoadDataEx, "cuModuleLoadDataEx", kFatune)                            \
  X(module_unload, cuModuleUnload, "cuModuleUnload", kFatune)                                  \
  X(module_function, cuModuleGetFunction, "cuModuleGetFunction", kFatune)                      \
  X(module_global, cuModuleGetGlobal, "cuModuleGetGlobal_v2", kFatune)                         \
  X(function_attribute, cuFuncGetAttribute, "cuFuncGetAttribute", kFatune)                     \
  X(set_function_attribute, cuFuncSetAttribute, "cuFuncSetAttribute", kFatune)                 \
  X(occupancy, cuOccupancyMaxActiveBlocksPerMultiprocessor,                                    \
    "cuOccupancyMaxActiveBlocksPerMultiprocessor", kFatune)                                    \
  X(library_load, cuLibraryLoadData, "cuLibraryLoadData", kRuntime)                            \
  X(library_unload, cuLibraryUnload, "cuLibraryUnload", kRuntime)                              \
  X(library_kernel, cuLibraryGetKernel, "cuLibraryGetKernel", kRuntime)                        \
  X(kernel_function, cuKernelGetFunction, "cuKernelGetFunction", kRuntime)                     \
  X(kernel_parameter, cuKernelGetParamInfo, "cuKernelGetParamInfo", kNeither)                  \
  X(set_kernel_attribute, cuKernelSetAttribute, "cuKernelSetAttribute", kRuntime)              \
  X(encode_tensor_map, cuTensorMapEncodeTiled, "cuTensorMapEncodeTiled", kRuntime)             \
  X(launch, cuLaunchKernelEx, "cuLaunchKernelEx", kBoth)                                       \
  X(capture_mode, cuThreadExchangeStreamCaptureMode, "cuThreadExchangeStreamCaptureMode",      \
    kRuntime)                                                                                  \
  X(capture_begin, cuStreamBeginCapture, "cuStreamBeginCapture_v2", kFatune)                   \
  X(capture_end, cuStreamEndCapture, "cuStreamEndCapture", kFatune)                            \
  X(graph_edges, cuGraphGetEdges_v2, "cuGraphGetEdges_v2", kNeither)                           \
  X(graph_destroy, cuGraphDestroy, "cuGraphDestroy", kFatune)                                  \
  X(graph_instantiate, cuGraphInstantiateWithFlags, "cuGraphInstantiateWithFlags", kFatune)    \
  X(graph_exec_destroy, cuGraphExecDestroy, "cuGraphExecDestroy", kFatune)                     \
  X(graph_upload, cuGraphUpload, "cuGraphUpload", kFatune)                                     \
  X(graph_launch, cuGraphLaunch, "cuGraphLaunch", kFatune)                                     \
  X(profiler_start, cuCtxResetPersistingL2Cache, "cuProfilerStart", kNeither)                  \
  X(profiler_stop, cuCtxResetPersistingL2Cache, "cuProfilerStop", kNeither)

struct Driver {
#define FATUNE_DECLARE(member, api, symbol, needed) decltype(&::api) member = nullptr;
  FATUNE_DRIVER_FUNCTIONS(FATUNE_DECLARE)
#undef FATUNE_DECLARE
};

/// Returns a symbol's address; null if there is none.
using SymbolSource = std::function<void*(const char* symbol)>;

/// Fills the table, with null for missing symbols. Returns the missing symbols that `user` needs,
/// "cuA, cuB"; empty if none.
std::string fill(Driver& driver, const SymbolSource& symbols, NeededBy user);

/// Returns "CUDA_ERROR_ILLEGAL_ADDRESS (700): an illegal memory access was encountered".
std::string describe(const Driver& driver, CUresult code);

}  // namespace fatune::gpu
