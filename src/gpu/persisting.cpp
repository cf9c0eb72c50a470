// persisting.cpp - the context's limit for persisting lines, their reset, and a stream's window.
#include "gpu/persisting.hpp"

#include <algorithm>

#include "gpu/call.hpp"

namespace fatune::gpu {
namespace {

constexpr std::size_t kMostWindowBytes = 1 << 20;  // chosen: every device with persisting lines

/// Devices and drivers without persisting lines say so in one of these ways.
bool unsupported(CUresult code) {
  return code == CUDA_ERROR_NOT_SUPPORTED || code == CUDA_ERROR_UNSUPPORTED_LIMIT ||
         code == CUDA_ERROR_INVALID_VALUE;
}

CUresult set_window(CUstream stream, CUdeviceptr address, std::size_t bytes) {
  CUstreamAttrValue value{};
  value.accessPolicyWindow.base_ptr = reinterpret_cast<void*>(address);
  value.accessPolicyWindow.num_bytes = bytes;
  value.accessPolicyWindow.hitRatio = bytes == 0 ? 0.0f : 1.0f;
  value.accessPolicyWindow.hitProp =
      bytes == 0 ? CU_ACCESS_PROPERTY_NORMAL : CU_ACCESS_PROPERTY_PERSISTING;
  value.accessPolicyWindow.missProp = CU_ACCESS_PROPERTY_NORMAL;
  return driver().stream_set_attribute(stream, CU_STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW, &value);
}

}  // namespace

Result<std::optional<std::size_t>> persisting_limit() {
  using Limit = std::optional<std::size_t>;
  if (driver().get_limit == nullptr) return Limit();
  std::size_t bytes = 0;
  const CUresult code = driver().get_limit(&bytes, CU_LIMIT_PERSISTING_L2_CACHE_SIZE);
  if (unsupported(code)) return Limit();
  FATUNE_TRY_STATUS(check(code, "cannot ask for the limit of persisting lines"));
  return Limit(bytes);
}

Status forbid_persisting_lines(CUstream stream) {
  FATUNE_TRY(const auto limit, persisting_limit());
  if (!limit || driver().set_limit == nullptr) return {};
  const CUresult code = driver().set_limit(CU_LIMIT_PERSISTING_L2_CACHE_SIZE, 0);
  if (unsupported(code)) return {};
  FATUNE_TRY_STATUS(check(code, "cannot forbid persisting lines of the L2 cache"));
  if (driver().stream_set_attribute == nullptr) return {};
  const CUresult cleared = set_window(stream, 0, 0);
  if (unsupported(cleared)) return {};
  return check(cleared, "cannot clear the stream's window of persisting lines");
}

Status reset_persisting_lines() {
  const auto reset = driver().reset_persisting_l2;
  if (reset == nullptr) return {};
  const CUresult code = reset();
  if (unsupported(code)) return {};
  return check(code, "cannot reset the persisting lines of the L2 cache");
}

Status keep_window(CUstream stream, CUdeviceptr address, std::size_t bytes) {
  if (driver().set_limit == nullptr || driver().stream_set_attribute == nullptr)
    return environment_error("this driver knows no persisting lines of the L2 cache");
  FATUNE_TRY_STATUS(check(driver().set_limit(CU_LIMIT_PERSISTING_L2_CACHE_SIZE, kMostWindowBytes),
                          "cannot set aside room for persisting lines"));
  return check(set_window(stream, address, std::min(bytes, kMostWindowBytes)),
               "cannot keep a window of lines in the L2 cache");
}

}  // namespace fatune::gpu
