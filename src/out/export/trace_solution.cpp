// trace_solution.cpp - writes the binding: tensors checked, scratch on the stream, one launch.
#include "out/export/trace_solution.hpp"

#include <fmt/format.h>

#include "core/text.hpp"
#include "out/export/formats.hpp"
#include "out/export/torch_reference.hpp"

namespace fatune {
namespace {

constexpr const char* kBinding = R"(// main.cu - @name@ for TVM-FFI: run(q, k, v, out).
// @name@.h has the machine code for @arch@, @name@.cuh the text that it is of.
@include@ <map>
@include@ <mutex>

@include@ <cuda.h>
@include@ <tvm/ffi/container/tensor.h>
@include@ <tvm/ffi/error.h>
@include@ <tvm/ffi/extra/c_env_api.h>
@include@ <tvm/ffi/function.h>

#define @NAME@_IMPLEMENTATION
@include@ "@name@.h"

namespace {

void check(CUresult code, const char *what) {
  if (code == CUDA_SUCCESS) return;
  const char *words = nullptr;
  cuGetErrorString(code, &words);
  TVM_FFI_THROW(RuntimeError) << "@name@: " << what << ": " << (words ? words : "unknown error");
}

// Loaded once in each context, and never unloaded: the contexts outlive this library's statics.
const @name@_kernel *loaded() {
  static std::mutex mutex;
  static std::map<CUcontext, @name@_kernel> kernels;
  CUcontext context = nullptr;
  check(cuCtxGetCurrent(&context), "cuCtxGetCurrent");
  const std::lock_guard<std::mutex> lock(mutex);
  const auto found = kernels.find(context);
  if (found != kernels.end()) return &found->second;
  @name@_kernel kernel;
  check(@name@_load(&kernel), "the machine code does not load");
  return &(kernels[context] = kernel);
}

CUdeviceptr pointer(const tvm::ffi::TensorView &tensor, const char *name, const int64_t (&shape)[4]) {
  const DLDataType type = tensor.dtype();
  TVM_FFI_ICHECK(tensor.device().device_type == kDLCUDA) << name << " is not on a GPU";
  TVM_FFI_ICHECK(type.code == @type_code@ && type.bits == @type_bits@ && type.lanes == 1)
      << name << " is not @dtype@";
  TVM_FFI_ICHECK(tensor.ndim() == 4 && tensor.IsContiguous()) << name << " is not contiguous, of 4 dimensions";
  for (int i = 0; i < 4; ++i) {
    TVM_FFI_ICHECK(tensor.size(i) == shape[i])
        << name << " has " << tensor.size(i) << " in dimension " << i << "; the kernel is compiled for " << shape[i];
  }
  return reinterpret_cast<CUdeviceptr>(tensor.data_ptr());
}

void run(tvm::ffi::TensorView q, tvm::ffi::TensorView k, tvm::ffi::TensorView v, tvm::ffi::TensorView out) {
  const CUdeviceptr q_at = pointer(q, "q", {@q@});
  const CUdeviceptr k_at = pointer(k, "k", {@k@});
  const CUdeviceptr v_at = pointer(v, "v", {@v@});
  const CUdeviceptr out_at = pointer(out, "out", {@out@});
  const DLDevice device = q.device();
  const CUstream stream =
      static_cast<CUstream>(TVMFFIEnvGetStream(device.device_type, device.device_id));
  const @name@_kernel *kernel = loaded();
@launch@}

}  // namespace

TVM_FFI_DLL_EXPORT_TYPED_FUNC(run, run);
)";

constexpr const char* kPlainLaunch =
    R"(  check(@name@_launch(kernel, q_at, k_at, v_at, out_at, 0, 0, stream), "the launch failed");
)";

/// Launches that run at the same time each need scratch of their own.
constexpr const char* kScratchLaunch =
    R"(  CUdeviceptr scratch = 0;
  check(cuMemAllocAsync(&scratch, @name@_scratch_bytes(), stream), "cuMemAllocAsync");
  const CUresult code = @name@_launch(kernel, q_at, k_at, v_at, out_at, 0, scratch, stream);
  check(cuMemFreeAsync(scratch, stream), "cuMemFreeAsync");
  check(code, "the launch failed");
)";

std::string shape_text(const Problem& p, std::string_view tensor) {
  return fmt::format("{}", fmt::join(stored_shape(p, tensor), ", "));
}

/// DLPack's codes.
std::string_view type_code(Dtype dtype) {
  switch (dtype) {
    case Dtype::kF16:
      return "kDLFloat";
    case Dtype::kBf16:
      return "kDLBfloat";
    case Dtype::kE4m3:
      return "kDLFloat8_e4m3fn";
    case Dtype::kE5m2:
      return "kDLFloat8_e5m2";
  }
  return "";
}

std::string binding_text(const ExportedKernel& kernel) {
  const Problem& p = kernel.facts.problem;
  std::string upper = kernel.name;
  for (char& c : upper) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
  std::string text = kBinding;
  const std::pair<const char*, std::string> marks[] = {
      {"@launch@", scratch_bytes(kernel.facts) > 0 ? kScratchLaunch : kPlainLaunch},
      {"@q@", shape_text(p, "q")},
      {"@k@", shape_text(p, "k")},
      {"@v@", shape_text(p, "v")},
      {"@out@", shape_text(p, "out")},
      {"@type_code@", std::string(type_code(p.dtype))},
      {"@type_bits@", fmt::to_string(8 * size_of(p.dtype))},
      {"@dtype@", std::string(name(p.dtype))},
      {"@include@", "#include"},
      {"@arch@", kernel.facts.arch},
      {"@NAME@", upper},
      {"@name@", kernel.name}};
  for (const auto& [mark, value] : marks) text = replaced(std::move(text), mark, value);
  return text;
}

}  // namespace

std::vector<SourceFile> trace_sources(const ExportedKernel& kernel) {
  return {{"main.cu", binding_text(kernel)},
          {kernel.name + ".h", c_header(kernel)},
          {kernel.name + ".cuh", kernel.source}};
}

}  // namespace fatune
