// driver.hpp - the CUDA driver's entry points, opened at run time, and its return codes to
// failures.
#pragma once

#include <string_view>

#include "gpu/driver/table.hpp"
#include "runtime/outcome.hpp"

namespace fatune::rt {

using gpu::Driver;
using gpu::SymbolSource;

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
