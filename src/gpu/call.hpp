// call.hpp - return codes of the driver to errors, and which of them end the process.
#pragma once

#include <string>
#include <string_view>

#include <cuda.h>

#include "core/result.hpp"

namespace fatune::gpu {

/// "CUDA_ERROR_ILLEGAL_ADDRESS (700): an illegal memory access was encountered".
std::string describe(CUresult code);

/// An error while doing something: "cannot load the cubin: CUDA_ERROR_... ". Its kind is kDevice.
Error call_error(CUresult code, std::string_view doing);
/// Nothing for success, else call_error(); `doing` reads "cannot ...".
Status check(CUresult code, std::string_view doing);

/// After such a code the process must end: every later call fails (illegal address, launch failure,
/// ...).
bool is_sticky(CUresult code);
/// The launch asked for more than the device has; the context is unharmed.
bool is_resource(CUresult code);

/// True when the context of this thread can do no more work, whatever call met the error first.
/// Does not wait for running kernels.
bool context_broken(CUstream stream);

}  // namespace fatune::gpu
