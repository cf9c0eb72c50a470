// driver.hpp - the process's table of driver entry points, and its return codes to errors.
#pragma once

#include <string>
#include <string_view>

#include "core/result.hpp"
#include "gpu/driver/table.hpp"

namespace fatune::gpu {

/// No CUDA library is linked: opens libcuda.so.1 and initialises it; later calls return at once. A
/// missing driver, or one older than CUDA 11.8, is an environment error with the remedy. Makes no
/// context.
Status load_driver();
/// The table; load_driver() must have succeeded in this process.
const Driver& driver();
/// Newest CUDA that the driver serves, 13000 for 13.0.
int driver_version();
/// For tests: the next load_driver() takes these symbols instead of libcuda.so.1's; with an empty
/// source libcuda.so.1's again.
void use_driver(SymbolSource symbols);

std::string cuda_version_text(int version);  ///< 13000 -> "13.0"
/// Version of the kernel module ("580.159.04") from the system's files; empty when it is not told.
std::string kernel_module_version();
/// The version in the text of /proc/driver/nvidia/version; empty when there is none.
std::string parse_kernel_module_version(std::string_view text);

/// An error while doing something: "cannot load the cubin: CUDA_ERROR_... ". Its kind is kDevice.
Error call_error(CUresult code, std::string_view doing);
/// Nothing for success, else call_error(); `doing` reads "cannot ...".
Status check(CUresult code, std::string_view doing);

/// After such a code the process must end: every later call fails (illegal address, launch failure,
/// ...).
bool is_sticky(CUresult code);
/// True when the context of this thread can do no more work, whatever call met the error first.
/// Does not wait for running kernels.
bool context_broken(CUstream stream);

/// The part of this process that a profiler records lies between the two; without a profiler both
/// do nothing. They need a current context.
Status start_profiler_range();
Status stop_profiler_range();

}  // namespace fatune::gpu
