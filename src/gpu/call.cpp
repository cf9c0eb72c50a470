// call.cpp - names, errors and severity of the driver's return codes.
#include "gpu/call.hpp"

#include "gpu/driver.hpp"

namespace fatune::gpu {

std::string describe(CUresult code) {
  const char* name = nullptr;
  const char* text = nullptr;
  driver().error_name(code, &name);
  driver().error_string(code, &text);
  std::string result = name == nullptr ? "CUDA error" : name;
  result += " (" + std::to_string(static_cast<int>(code)) + ")";
  if (text != nullptr) result += std::string(": ") + text;
  return result;
}

Error call_error(CUresult code, std::string_view doing) {
  return device_error(std::string(doing) + ": " + describe(code));
}

Status check(CUresult code, std::string_view doing) {
  if (code == CUDA_SUCCESS) return {};
  return call_error(code, doing);
}

bool is_sticky(CUresult code) {
  switch (code) {
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_CONTEXT_IS_DESTROYED:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_UNKNOWN:
      return true;
    default:
      return false;
  }
}

bool is_resource(CUresult code) {
  switch (code) {
    case CUDA_ERROR_INVALID_VALUE:
    case CUDA_ERROR_OUT_OF_MEMORY:
    case CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES:
      return true;
    default:
      return false;
  }
}

bool context_broken(CUstream stream) {
  const CUresult code = driver().stream_query(stream);
  return code != CUDA_SUCCESS && code != CUDA_ERROR_NOT_READY;
}

}  // namespace fatune::gpu
