// launch.cpp - launch shapes to the driver's launch configuration, and the attributes around it.
#include "gpu/launch.hpp"

#include <limits>
#include <string>

#include "gpu/call.hpp"
#include "gpu/driver.hpp"

namespace fatune::gpu {
namespace {

constexpr std::int64_t kPortableCluster = 8;  ///< CUDA: larger clusters need an attribute

std::int64_t blocks(const Extent& extent) { return extent[0] * extent[1] * extent[2]; }
bool has_cluster(const LaunchShape& shape) { return blocks(shape.cluster) > 1; }

std::string text(const Extent& extent) {
  return std::to_string(extent[0]) + "," + std::to_string(extent[1]) + "," +
         std::to_string(extent[2]);
}

/// The driver's fields are 32 bits wide; a larger number must not wrap round to a valid one.
Status check_range(const LaunchShape& shape) {
  const auto check_extent = [](const Extent& extent, const char* what) -> Status {
    for (const std::int64_t size : extent) {
      if (size < 1 || size > std::numeric_limits<std::int32_t>::max()) {
        return device_error(std::string("cannot launch: ") + what + " " + text(extent) +
                            " is out of range");
      }
    }
    return {};
  };
  FATUNE_TRY_STATUS(check_extent(shape.grid, "grid"));
  FATUNE_TRY_STATUS(check_extent(shape.block, "block"));
  FATUNE_TRY_STATUS(check_extent(shape.cluster, "cluster"));
  if (shape.shared_bytes < 0 || shape.shared_bytes > std::numeric_limits<std::int32_t>::max()) {
    return device_error("cannot launch: " + std::to_string(shape.shared_bytes) +
                        " bytes of shared memory are out of range");
  }
  return {};
}

/// The launch configuration; owns the attributes it points to.
class Configuration {
 public:
  Configuration(const LaunchShape& shape, CUstream stream) {
    const auto narrow = [](std::int64_t size) { return static_cast<unsigned>(size); };
    config_.gridDimX = narrow(shape.grid[0]);
    config_.gridDimY = narrow(shape.grid[1]);
    config_.gridDimZ = narrow(shape.grid[2]);
    config_.blockDimX = narrow(shape.block[0]);
    config_.blockDimY = narrow(shape.block[1]);
    config_.blockDimZ = narrow(shape.block[2]);
    config_.sharedMemBytes = narrow(shape.shared_bytes);
    config_.hStream = stream;
    config_.attrs = attributes_.data();
    if (has_cluster(shape)) {
      CUlaunchAttribute& cluster = add(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
      cluster.value.clusterDim.x = narrow(shape.cluster[0]);
      cluster.value.clusterDim.y = narrow(shape.cluster[1]);
      cluster.value.clusterDim.z = narrow(shape.cluster[2]);
    }
    if (shape.dependent) {
      add(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
          .value.programmaticStreamSerializationAllowed = 1;
    }
  }
  Configuration(const Configuration&) = delete;
  Configuration& operator=(const Configuration&) = delete;
  const CUlaunchConfig* pointer() const { return &config_; }

 private:
  CUlaunchAttribute& add(CUlaunchAttributeID id) {
    CUlaunchAttribute& attribute = attributes_[config_.numAttrs++];
    attribute.id = id;
    return attribute;
  }
  std::array<CUlaunchAttribute, 2> attributes_{};
  CUlaunchConfig config_{};
};

Result<int> function_attribute(CUfunction function, CUfunction_attribute attribute) {
  int value = 0;
  FATUNE_TRY_STATUS(check(driver().function_attribute(&value, attribute, function),
                          "cannot ask the function for its attributes"));
  return value;
}

}  // namespace

Status prepare(CUfunction function, const LaunchShape& shape) {
  FATUNE_TRY_STATUS(check_range(shape));
  const std::string bytes = std::to_string(shape.shared_bytes);
  FATUNE_TRY_STATUS(check(
      driver().set_function_attribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                      static_cast<int>(shape.shared_bytes)),
      "cannot allow " + bytes + " bytes of dynamic shared memory"));
  if (shape.shared_bytes > 0) {  // else the driver's own choice leaves more to the L1 cache
    FATUNE_TRY_STATUS(check(driver().set_function_attribute(
                                function, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
                                CU_SHAREDMEM_CARVEOUT_MAX_SHARED),
                            "cannot set the shared-memory carveout"));
  }
  if (blocks(shape.cluster) <= kPortableCluster) return {};
  return check(driver().set_function_attribute(
                   function, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1),
               "cannot allow a cluster of " + text(shape.cluster) + " blocks");
}

Status launch(CUfunction function, const LaunchShape& shape, std::span<void*> arguments,
              CUstream stream) {
  FATUNE_TRY_STATUS(check_range(shape));
  const Configuration configuration(shape, stream);
  const CUresult code =
      driver().launch(configuration.pointer(), function, arguments.data(), nullptr);
  if (code == CUDA_SUCCESS) return {};
  return call_error(code, "cannot launch grid " + text(shape.grid) + ", block " +
                              text(shape.block) + ", cluster " + text(shape.cluster) + ", " +
                              std::to_string(shape.shared_bytes) + " bytes of shared memory");
}

Result<int> blocks_per_sm(CUfunction function, const LaunchShape& shape) {
  FATUNE_TRY_STATUS(check_range(shape));
  int count = 0;
  FATUNE_TRY_STATUS(
      check(driver().occupancy(&count, function, static_cast<int>(blocks(shape.block)),
                               static_cast<std::size_t>(shape.shared_bytes)),
            "cannot ask for the occupancy"));
  return count;
}

Result<int> resident_clusters(CUfunction function, const LaunchShape& shape) {
  FATUNE_TRY_STATUS(check_range(shape));
  const Configuration configuration(shape, nullptr);
  int count = 0;
  FATUNE_TRY_STATUS(check(driver().cluster_occupancy(&count, function, configuration.pointer()),
                          "cannot ask for the resident clusters"));
  return count;
}

Result<FunctionFacts> function_facts(CUfunction function) {
  FunctionFacts facts;
  FATUNE_TRY(facts.registers, function_attribute(function, CU_FUNC_ATTRIBUTE_NUM_REGS));
  FATUNE_TRY(facts.local_bytes, function_attribute(function, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES));
  FATUNE_TRY(facts.static_shared_bytes,
             function_attribute(function, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES));
  FATUNE_TRY(facts.max_threads_block,
             function_attribute(function, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK));
  return facts;
}

}  // namespace fatune::gpu
