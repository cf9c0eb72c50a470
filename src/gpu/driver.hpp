// driver.hpp - the entry points of the CUDA driver, opened at run time.
#pragma once

#include <string>
#include <string_view>

#include <cuda.h>

#include "core/result.hpp"

namespace fatune::gpu {

/// Member, type of the function, and the symbol that the driver exports for that type.
#define FATUNE_DRIVER_FUNCTIONS(X)                                                   \
  X(init, cuInit, "cuInit")                                                          \
  X(driver_version, cuDriverGetVersion, "cuDriverGetVersion")                        \
  X(error_name, cuGetErrorName, "cuGetErrorName")                                    \
  X(error_string, cuGetErrorString, "cuGetErrorString")                              \
  X(device_count, cuDeviceGetCount, "cuDeviceGetCount")                              \
  X(device, cuDeviceGet, "cuDeviceGet")                                              \
  X(device_name, cuDeviceGetName, "cuDeviceGetName")                                 \
  X(device_uuid, cuDeviceGetUuid, "cuDeviceGetUuid_v2")                              \
  X(device_pci_bus_id, cuDeviceGetPCIBusId, "cuDeviceGetPCIBusId")                   \
  X(device_attribute, cuDeviceGetAttribute, "cuDeviceGetAttribute")                  \
  X(device_memory, cuDeviceTotalMem, "cuDeviceTotalMem_v2")                          \
  X(context_retain, cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain")            \
  X(context_release, cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2")      \
  X(context_set_current, cuCtxSetCurrent, "cuCtxSetCurrent")                         \
  X(stream_create, cuStreamCreate, "cuStreamCreate")                                 \
  X(stream_destroy, cuStreamDestroy, "cuStreamDestroy_v2")                           \
  X(stream_query, cuStreamQuery, "cuStreamQuery")                                    \
  X(stream_synchronize, cuStreamSynchronize, "cuStreamSynchronize")                  \
  X(event_create, cuEventCreate, "cuEventCreate")                                    \
  X(event_destroy, cuEventDestroy, "cuEventDestroy_v2")                              \
  X(event_record, cuEventRecord, "cuEventRecord")                                    \
  X(event_query, cuEventQuery, "cuEventQuery")                                       \
  X(event_elapsed, cuEventElapsedTime, "cuEventElapsedTime")                         \
  X(memory_info, cuMemGetInfo, "cuMemGetInfo_v2")                                    \
  X(memory_allocate, cuMemAlloc, "cuMemAlloc_v2")                                    \
  X(memory_free, cuMemFree, "cuMemFree_v2")                                          \
  X(host_allocate, cuMemHostAlloc, "cuMemHostAlloc")                                 \
  X(host_free, cuMemFreeHost, "cuMemFreeHost")                                       \
  X(copy_to_device, cuMemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2")                       \
  X(copy_to_host, cuMemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2")                         \
  X(copy_on_device, cuMemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2")                       \
  X(set_bytes, cuMemsetD8Async, "cuMemsetD8Async")                                   \
  X(set_words, cuMemsetD32Async, "cuMemsetD32Async")                                 \
  X(module_load, cuModuleLoadDataEx, "cuModuleLoadDataEx")                           \
  X(module_unload, cuModuleUnload, "cuModuleUnload")                                 \
  X(module_function, cuModuleGetFunction, "cuModuleGetFunction")                     \
  X(function_attribute, cuFuncGetAttribute, "cuFuncGetAttribute")                    \
  X(set_function_attribute, cuFuncSetAttribute, "cuFuncSetAttribute")                \
  X(occupancy, cuOccupancyMaxActiveBlocksPerMultiprocessor,                          \
    "cuOccupancyMaxActiveBlocksPerMultiprocessor")                                   \
  X(cluster_occupancy, cuOccupancyMaxActiveClusters, "cuOccupancyMaxActiveClusters") \
  X(launch, cuLaunchKernelEx, "cuLaunchKernelEx")                                    \
  X(capture_begin, cuStreamBeginCapture, "cuStreamBeginCapture_v2")                  \
  X(capture_end, cuStreamEndCapture, "cuStreamEndCapture")                           \
  X(graph_destroy, cuGraphDestroy, "cuGraphDestroy")                                 \
  X(graph_instantiate, cuGraphInstantiateWithFlags, "cuGraphInstantiateWithFlags")   \
  X(graph_exec_destroy, cuGraphExecDestroy, "cuGraphExecDestroy")                    \
  X(graph_upload, cuGraphUpload, "cuGraphUpload")                                    \
  X(graph_launch, cuGraphLaunch, "cuGraphLaunch")

/// Those that an older driver may lack; null then.
#define FATUNE_OPTIONAL_DRIVER_FUNCTIONS(X)                                          \
  X(encode_tensor_map, cuTensorMapEncodeTiled, "cuTensorMapEncodeTiled")             \
  X(reset_persisting_l2, cuCtxResetPersistingL2Cache, "cuCtxResetPersistingL2Cache") \
  X(get_limit, cuCtxGetLimit, "cuCtxGetLimit")                                       \
  X(set_limit, cuCtxSetLimit, "cuCtxSetLimit")                                       \
  X(stream_set_attribute, cuStreamSetAttribute, "cuStreamSetAttribute")

struct Driver {
#define FATUNE_DECLARE(member, api, symbol) decltype(&::api) member = nullptr;
  FATUNE_DRIVER_FUNCTIONS(FATUNE_DECLARE)
  FATUNE_OPTIONAL_DRIVER_FUNCTIONS(FATUNE_DECLARE)
#undef FATUNE_DECLARE
  std::string path;  ///< of libcuda.so.1
  int version = 0;   ///< newest CUDA the driver serves, 13000 for 13.0
};

/// No CUDA library is linked: opens libcuda.so.1 and initialises it; later calls return at once. A
/// missing driver, or one older than CUDA 11.8, is an environment error with the remedy. Makes no
/// context.
Status load_driver();
/// The table; load_driver() must have succeeded in this process.
const Driver& driver();

std::string cuda_version_text(int version);  ///< 13000 -> "13.0"
/// Version of the kernel module ("580.159.04") from the system's files; empty when it is not told.
std::string kernel_module_version();
/// The version in the text of /proc/driver/nvidia/version; empty when there is none.
std::string parse_kernel_module_version(std::string_view text);

}  // namespace fatune::gpu
