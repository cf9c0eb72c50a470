// driver.hpp: Declares access to the CUDA driver's entry points and errors from its return codes.
#pragma once

#include <string>
#include <string_view>

#include "core/result.hpp"
#include "gpu/driver/table.hpp"

namespace fatune::gpu {

/// Opens libcuda.so.1 and initialises it; later calls return at once. No CUDA library is linked and
/// no context is made. A missing driver, or one older than CUDA 11.8, is an environment error with
/// a remedy.
Status load_driver();
/// Returns the entry points; load_driver() must have succeeded in this process.
const Driver& driver();
/// Returns the newest CUDA that the driver supports: 13000 for 13.0.
int driver_version();
/// For tests: makes the next load_driver() use these symbols; an empty source restores
/// libcuda.so.1.
void use_driver(SymbolSource symbols);

std::string cuda_version_text(int version);  ///< 13000 -> "13.0"
/// Returns the kernel module's version ("580.159.04") from /proc; empty if unknown.
std::string kernel_module_version();
/// Parses /proc/driver/nvidia/version; empty if the text has no version.
std::string parse_kernel_module_version(std::string_view text);

/// Makes a kDevice error: "cannot load the cubin: CUDA_ERROR_... ".
Error call_error(CUresult code, std::string_view doing);
/// Returns call_error() unless the call succeeded; `doing` reads "cannot ...".
Status check(CUresult code, std::string_view doing);

/// True for errors after which every later call fails, such as an illegal address. The process must
/// end.
bool is_sticky(CUresult code);
/// True if the context of this thread is unusable, whichever call met the error first. Does not
/// wait for running kernels.
bool context_broken(CUstream stream);

/// Bound the part of the process that a profiler records; no effect without a profiler. Both need a
/// current context.
Status start_profiler_range();
Status stop_profiler_range();

}  // namespace fatune::gpu
