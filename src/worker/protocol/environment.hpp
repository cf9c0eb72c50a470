// environment.hpp: Lists the environment variables that workers get: no keys and no tokens.
#pragma once

#include <array>
#include <string_view>

namespace fatune {

/// Variables for kernels, their compiler, and the baselines that the device worker starts. A
/// program that needs more is started through `env`.
inline constexpr std::array<std::string_view, 46> kWorkerEnvironment = {
    // places and words
    "PATH", "HOME", "USER", "LOGNAME", "TERM", "LANG", "LANGUAGE", "LC_*", "TZ", "TMPDIR", "TMP",
    "TEMP", "XDG_CACHE_HOME", "XDG_DATA_HOME", "FATUNE_*",
    // the loader and the C library
    "LD_LIBRARY_PATH", "LD_PRELOAD", "GLIBC_TUNABLES", "MALLOC_*",
    // the driver and its libraries
    "CUDA*", "NVIDIA_*", "NVRTC_*", "CUDNN_*", "CUBLAS*", "CUTENSOR_*", "NCCL_*",
    // Python, PyTorch, and the compilers that their kernels are made by
    "PYTHON*", "VIRTUAL_ENV", "CONDA_PREFIX", "TORCH*", "PYTORCH_*", "TRITON_*", "FLASHINFER_*",
    "CUTLASS_*", "CUTE_*", "OMP_*", "MKL_*", "KMP_*", "CC", "CXX", "MAX_JOBS",
    // sanitizers and coverage
    "ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS", "LLVM_PROFILE_FILE"};

}  // namespace fatune
