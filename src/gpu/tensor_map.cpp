// tensor_map.cpp - checks a tensor's shape against the copy engine's rules and encodes it.
#include "gpu/tensor_map.hpp"

#include <string>

#include "gpu/call.hpp"
#include "gpu/driver.hpp"

namespace fatune::gpu {
namespace {

struct ElementInfo {
  CUtensorMapDataType type;
  std::int64_t bytes;
};

ElementInfo info(TensorElement element) {
  switch (element) {
    case TensorElement::kF16:
      return {CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2};
    case TensorElement::kBf16:
      return {CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2};
    case TensorElement::kByte:
      break;
  }
  return {CU_TENSOR_MAP_DATA_TYPE_UINT8, 1};
}

Result<CUtensorMapSwizzle> swizzle_of(int bytes) {
  switch (bytes) {
    case 0:
      return CU_TENSOR_MAP_SWIZZLE_NONE;
    case 32:
      return CU_TENSOR_MAP_SWIZZLE_32B;
    case 64:
      return CU_TENSOR_MAP_SWIZZLE_64B;
    case 128:
      return CU_TENSOR_MAP_SWIZZLE_128B;
    default:
      return device_error("cannot make a tensor map: swizzle " + std::to_string(bytes) +
                          " is not 0, 32, 64 or 128");
  }
}

/// The rules of cuTensorMapEncodeTiled that a kernel's manifest can break; it only says "invalid
/// value".
Status check_shape(const TensorMapShape& shape, std::int64_t element_bytes) {
  const auto broken = [](const std::string& why) {
    return device_error("cannot make a tensor map: " + why);
  };
  for (std::size_t i = 0; i < 4; ++i) {
    if (shape.sizes[i] < 1 || shape.sizes[i] > (std::int64_t{1} << 32)) {
      return broken("size " + std::to_string(shape.sizes[i]) + " is not within 1 and 2^32");
    }
    if (shape.box[i] < 1 || shape.box[i] > 256) {
      return broken("box edge " + std::to_string(shape.box[i]) + " is not within 1 and 256");
    }
  }
  const std::int64_t row = shape.sizes[0] * element_bytes;
  if (row % 16 != 0) {
    return broken("rows of " + std::to_string(row) + " bytes are no multiple of 16");
  }
  const std::int64_t inner = shape.box[0] * element_bytes;
  if (inner % 16 != 0) {
    return broken("box rows of " + std::to_string(inner) + " bytes are no multiple of 16");
  }
  if (shape.swizzle_bytes != 0 && inner > shape.swizzle_bytes) {
    return broken("box rows of " + std::to_string(inner) + " bytes are wider than the swizzle of " +
                  std::to_string(shape.swizzle_bytes));
  }
  return {};
}

}  // namespace

Result<TensorMap> make_tensor_map(CUdeviceptr tensor, const TensorMapShape& shape) {
  const ElementInfo element = info(shape.element);
  FATUNE_TRY(const CUtensorMapSwizzle swizzle, swizzle_of(shape.swizzle_bytes));
  FATUNE_TRY_STATUS(check_shape(shape, element.bytes));
  FATUNE_TRY_STATUS(load_driver());
  if (driver().encode_tensor_map == nullptr) {
    return environment_error(
        "the NVIDIA driver is too old for tensor maps: it lacks cuTensorMapEncodeTiled, which came "
        "with CUDA 12.0 (525)");
  }
  std::array<cuuint64_t, 4> sizes{};
  std::array<cuuint64_t, 3> strides{};  // bytes, of all dimensions but the fastest
  std::array<cuuint32_t, 4> box{};
  const std::array<cuuint32_t, 4> step{1, 1, 1, 1};
  cuuint64_t stride = static_cast<cuuint64_t>(element.bytes);
  for (std::size_t i = 0; i < 4; ++i) {
    sizes[i] = static_cast<cuuint64_t>(shape.sizes[i]);
    box[i] = static_cast<cuuint32_t>(shape.box[i]);
    stride *= sizes[i];
    if (i < strides.size()) strides[i] = stride;
  }
  auto map = std::make_unique<CUtensorMap>();
  FATUNE_TRY_STATUS(
      check(driver().encode_tensor_map(
                map.get(), element.type, 4, reinterpret_cast<void*>(tensor), sizes.data(),
                strides.data(), box.data(), step.data(), CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle,
                CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
            "cannot make a tensor map"));
  return map;
}

}  // namespace fatune::gpu
