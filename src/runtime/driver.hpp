// driver.hpp - the entry points of the CUDA driver that loading and launching need, opened at run
// time.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include <cuda.h>

#include "runtime/outcome.hpp"

namespace fatune::rt {

/// Member, type of the function, and the symbol that the driver exports for that type. All of them
/// came with CUDA 12.0 at the latest.
#define FATUNE_RT_DRIVER_FUNCTIONS(X)                                                     \
  X(init, cuInit, "cuInit")                                                               \
  X(error_name, cuGetErrorName, "cuGetErrorName")                                         \
  X(error_string, cuGetErrorString, "cuGetErrorString")                                   \
  X(context_device, cuCtxGetDevice, "cuCtxGetDevice")                                     \
  X(device_name, cuDeviceGetName, "cuDeviceGetName")                                      \
  X(device_attribute, cuDeviceGetAttribute, "cuDeviceGetAttribute")                       \
  X(capture_mode, cuThreadExchangeStreamCaptureMode, "cuThreadExchangeStreamCaptureMode") \
  X(library_load, cuLibraryLoadData, "cuLibraryLoadData")                                 \
  X(library_unload, cuLibraryUnload, "cuLibraryUnload")                                   \
  X(library_kernel, cuLibraryGetKernel, "cuLibraryGetKernel")                             \
  X(kernel_function, cuKernelGetFunction, "cuKernelGetFunction")                          \
  X(set_kernel_attribute, cuKernelSetAttribute, "cuKernelSetAttribute")                   \
  X(encode_tensor_map, cuTensorMapEncodeTiled, "cuTensorMapEncodeTiled")                  \
  X(launch, cuLaunchKernelEx, "cuLaunchKernelEx")                                         \
  X(allocate, cuMemAllocAsync, "cuMemAllocAsync")                                         \
  X(free, cuMemFreeAsync, "cuMemFreeAsync")

struct Driver {
#define FATUNE_RT_DECLARE(member, api, symbol) decltype(&::api) member = nullptr;
  FATUNE_RT_DRIVER_FUNCTIONS(FATUNE_RT_DECLARE)
#undef FATUNE_RT_DECLARE
};

/// A symbol's address; null when there is none.
using SymbolSource = std::function<void*(const char* symbol)>;

/// Of libcuda.so.1, which stays open; a failure is NO_DRIVER.
Outcome<SymbolSource> system_driver();
/// Fills the table and starts the driver (cuInit). Too old a driver, or one that finds no device,
/// is NO_DRIVER.
Outcome<Driver> load_driver(const SymbolSource& symbols);

/// Done for success, else DRIVER_FAILED: "cannot launch fa_mma: CUDA_ERROR_... (701): ...".
Outcome<Done> check(const Driver& driver, CUresult code, std::string_view doing);

/// Of the context that is current on this thread; without one BAD_ARGUMENT.
Outcome<CUdevice> current_device(const Driver& driver);

}  // namespace fatune::rt
