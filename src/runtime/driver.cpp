// driver.cpp - fills the table from libcuda.so.1; the driver's return codes become failures.
#include "runtime/driver.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

namespace fatune::rt {
Outcome<SymbolSource> system_driver() {
  void* library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return Failure{FATUNE_RT_NO_DRIVER,
                   "no NVIDIA driver was found (libcuda.so.1 cannot be opened). Install the "
                   "driver, or, in a container, start it with access to the GPU (--gpus all)"};
  }
  return SymbolSource([library](const char* symbol) { return ::dlsym(library, symbol); });
}

Outcome<Driver> load_driver(const SymbolSource& symbols) {
  Driver driver;
  const std::string missing = gpu::fill(driver, symbols, gpu::NeededBy::kRuntime);
  if (!missing.empty()) {
    return Failure{FATUNE_RT_NO_DRIVER,
                   fmt::format("the NVIDIA driver is too old: it lacks {}; libfatune_rt needs a "
                               "driver for CUDA 12.0 or newer (525 or newer)",
                               missing)};
  }
  const CUresult code = driver.init(0);
  if (code == CUDA_SUCCESS) return driver;
  return Failure{FATUNE_RT_NO_DRIVER,
                 fmt::format("the NVIDIA driver does not start, or finds no GPU: cuInit says {}; "
                             "`nvidia-smi` and CUDA_VISIBLE_DEVICES tell more",
                             gpu::describe(driver, code)),
                 static_cast<std::int32_t>(code)};
}

Outcome<Done> check(const Driver& driver, CUresult code, std::string_view doing) {
  if (code == CUDA_SUCCESS) return Done{};
  return Failure{FATUNE_RT_DRIVER_FAILED, fmt::format("{}: {}", doing, gpu::describe(driver, code)),
                 static_cast<std::int32_t>(code)};
}

Outcome<CUdevice> current_device(const Driver& driver) {
  CUdevice device = 0;
  const CUresult code = driver.context_device(&device);
  if (code == CUDA_SUCCESS) return device;
  if (code == CUDA_ERROR_INVALID_CONTEXT) {
    return Failure{FATUNE_RT_BAD_ARGUMENT,
                   "no CUDA context is current on this thread: call cudaSetDevice, or "
                   "cuCtxSetCurrent, before",
                   static_cast<std::int32_t>(code)};
  }
  FATUNE_TRY_STATUS(check(driver, code, "cannot ask for the current device"));
  return device;
}

}  // namespace fatune::rt
