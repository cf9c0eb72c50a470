// launch_config.cpp: Converts launch shapes and tensor maps to the driver's structs.
#include "gpu/driver/launch_config.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace fatune::gpu {
namespace {

// Larger clusters need an attribute (CUDA C++ Programming Guide).
constexpr std::int64_t kPortableCluster = 8;

CUtensorMapDataType type_of(MapElement element) {
  if (element == MapElement::kF16) return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
  if (element == MapElement::kBf16) return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
  return CU_TENSOR_MAP_DATA_TYPE_UINT8;
}

CUtensorMapSwizzle swizzle_of(int bytes) {
  if (bytes == 32) return CU_TENSOR_MAP_SWIZZLE_32B;
  if (bytes == 64) return CU_TENSOR_MAP_SWIZZLE_64B;
  return bytes == 128 ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_NONE;
}

}  // namespace

LaunchShape shape_of(const StageFacts& stage) {
  return {stage.grid, stage.block, stage.cluster, stage.shared_bytes, stage.dependent};
}

LaunchConfig::LaunchConfig(const LaunchShape& shape) {
  const auto narrow = [](std::int64_t size) { return static_cast<unsigned>(size); };
  config_.gridDimX = narrow(shape.grid[0]);
  config_.gridDimY = narrow(shape.grid[1]);
  config_.gridDimZ = narrow(shape.grid[2]);
  config_.blockDimX = narrow(shape.block[0]);
  config_.blockDimY = narrow(shape.block[1]);
  config_.blockDimZ = narrow(shape.block[2]);
  config_.sharedMemBytes = narrow(shape.shared_bytes);
  if (product(shape.cluster) > 1) {
    add(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION).value.clusterDim = {
        narrow(shape.cluster[0]), narrow(shape.cluster[1]), narrow(shape.cluster[2])};
  }
  if (shape.dependent) {
    add(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
        .value.programmaticStreamSerializationAllowed = 1;
  }
}

CUlaunchAttribute& LaunchConfig::add(CUlaunchAttributeID id) {
  CUlaunchAttribute& attribute = attributes_[config_.numAttrs++];
  attribute.id = id;
  return attribute;
}

CUlaunchConfig LaunchConfig::on(CUstream stream) const {
  CUlaunchConfig config = config_;
  config.hStream = stream;
  config.attrs = const_cast<CUlaunchAttribute*>(attributes_.data());  // the driver only reads them
  return config;
}

std::vector<FunctionSetting> settings_of(const LaunchShape& shape) {
  std::vector<FunctionSetting> settings = {
      {CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, static_cast<int>(shape.shared_bytes),
       fmt::format("{} bytes of dynamic shared memory", shape.shared_bytes)}};
  if (shape.shared_bytes > 0) {
    settings.push_back({CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
                        CU_SHAREDMEM_CARVEOUT_MAX_SHARED, "the largest shared-memory carveout"});
  }
  if (product(shape.cluster) > kPortableCluster) {
    settings.push_back({CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1,
                        fmt::format("a cluster of {} blocks", product(shape.cluster))});
  }
  return settings;
}

CUresult encode_tensor_map(const Driver& driver, const TensorMapFacts& facts, CUdeviceptr tensor,
                           CUtensorMap* map) {
  constexpr std::array<cuuint32_t, 4> kStep{1, 1, 1, 1};
  std::array<cuuint64_t, 4> sizes{};
  std::array<cuuint64_t, 3> strides{};  // bytes, without the fastest dimension
  std::array<cuuint32_t, 4> box{};
  std::copy(facts.sizes.begin(), facts.sizes.end(), sizes.begin());
  std::copy(facts.strides_bytes.begin(), facts.strides_bytes.end(), strides.begin());
  std::transform(facts.box.begin(), facts.box.end(), box.begin(),
                 [](std::int64_t edge) { return static_cast<cuuint32_t>(edge); });
  return driver.encode_tensor_map(
      map, type_of(facts.element), 4, reinterpret_cast<void*>(tensor), sizes.data(), strides.data(),
      box.data(), kStep.data(), CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle_of(facts.swizzle_bytes),
      CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

}  // namespace fatune::gpu
