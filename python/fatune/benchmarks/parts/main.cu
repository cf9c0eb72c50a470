// main.cu: Binds @name@ to TVM-FFI as run(q, k, v, out).
// @name@.h has the machine code for @arch@, @name@.cuh the source that it is compiled from.
#include <map>
#include <mutex>

#include <cuda.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/function.h>

#define @NAME@_IMPLEMENTATION
#include "@name@.h"

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

CUdeviceptr pointer(const tvm::ffi::TensorView &tensor, const char *name,
                    const int64_t (&shape)[4]) {
  const DLDataType type = tensor.dtype();
  TVM_FFI_ICHECK(tensor.device().device_type == kDLCUDA) << name << " is not on a GPU";
  TVM_FFI_ICHECK(type.code == @type_code@ && type.bits == @type_bits@ && type.lanes == 1)
      << name << " is not @dtype@";
  TVM_FFI_ICHECK(tensor.ndim() == 4 && tensor.IsContiguous())
      << name << " is not contiguous, of 4 dimensions";
  for (int i = 0; i < 4; ++i) {
    TVM_FFI_ICHECK(tensor.size(i) == shape[i])
        << name << " has " << tensor.size(i) << " in dimension " << i
        << "; the kernel is compiled for " << shape[i];
  }
  return reinterpret_cast<CUdeviceptr>(tensor.data_ptr());
}

void run(tvm::ffi::TensorView q, tvm::ffi::TensorView k, tvm::ffi::TensorView v,
         tvm::ffi::TensorView out) {
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
