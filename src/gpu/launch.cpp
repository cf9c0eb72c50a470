// launch.cpp - checks launches and tensor maps, which the driver refuses without reasons, and makes
// them.
#include "gpu/launch.hpp"

#include <limits>
#include <string>

#include <fmt/format.h>

#include "gpu/driver.hpp"

namespace fatune::gpu {
namespace {

std::string text(const Extent& extent) {
  return fmt::format("{},{},{}", extent[0], extent[1], extent[2]);
}

/// The driver's fields are 32 bits wide; a larger number must not wrap round to a valid one.
Status check_range(const LaunchShape& shape) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  const auto check_extent = [](const Extent& extent, const char* what) -> Status {
    for (const std::int64_t size : extent) {
      if (size >= 1 && size <= kMost) continue;
      return device_error(fmt::format("cannot launch: {} {} is out of range", what, text(extent)));
    }
    return {};
  };
  FATUNE_TRY_STATUS(check_extent(shape.grid, "grid"));
  FATUNE_TRY_STATUS(check_extent(shape.block, "block"));
  FATUNE_TRY_STATUS(check_extent(shape.cluster, "cluster"));
  if (shape.shared_bytes >= 0 && shape.shared_bytes <= kMost) return {};
  return device_error(
      fmt::format("cannot launch: {} bytes of shared memory are out of range", shape.shared_bytes));
}

Result<int> function_attribute(CUfunction function, CUfunction_attribute attribute) {
  int value = 0;
  FATUNE_TRY_STATUS(check(driver().function_attribute(&value, attribute, function),
                          "cannot ask the function for its attributes"));
  return value;
}

/// The rules of cuTensorMapEncodeTiled that a kernel's manifest can break; it only says "invalid
/// value".
Status check_map(const TensorMapFacts& facts) {
  const auto broken = [](const std::string& why) {
    return device_error("cannot make a tensor map: " + why);
  };
  const std::int64_t element_bytes = facts.element == MapElement::kByte ? 1 : 2;
  const int swizzle = facts.swizzle_bytes;
  if (swizzle != 0 && swizzle != 32 && swizzle != 64 && swizzle != 128)
    return broken(fmt::format("swizzle {} is not 0, 32, 64 or 128", swizzle));
  for (std::size_t i = 0; i < 4; ++i) {
    if (facts.sizes[i] < 1 || facts.sizes[i] > (std::int64_t{1} << 32))
      return broken(fmt::format("size {} is not within 1 and 2^32", facts.sizes[i]));
    if (facts.box[i] < 1 || facts.box[i] > 256)
      return broken(fmt::format("box edge {} is not within 1 and 256", facts.box[i]));
  }
  const std::int64_t row = facts.sizes[0] * element_bytes;
  if (row % 16 != 0) return broken(fmt::format("rows of {} bytes are no multiple of 16", row));
  const std::int64_t inner = facts.box[0] * element_bytes;
  if (inner % 16 != 0)
    return broken(fmt::format("box rows of {} bytes are no multiple of 16", inner));
  if (swizzle == 0 || inner <= swizzle) return {};
  return broken(
      fmt::format("box rows of {} bytes are wider than the swizzle of {}", inner, swizzle));
}

}  // namespace

Status prepare(CUfunction function, const LaunchShape& shape) {
  FATUNE_TRY_STATUS(check_range(shape));
  for (const FunctionSetting& setting : settings_of(shape)) {
    FATUNE_TRY_STATUS(
        check(driver().set_function_attribute(function, setting.attribute, setting.value),
              "cannot allow " + setting.what));
  }
  return {};
}

Status launch(CUfunction function, const LaunchShape& shape, std::span<void*> arguments,
              CUstream stream) {
  FATUNE_TRY_STATUS(check_range(shape));
  const LaunchConfig made(shape);
  const CUlaunchConfig config = made.on(stream);
  const CUresult code = driver().launch(&config, function, arguments.data(), nullptr);
  if (code == CUDA_SUCCESS) return {};
  return call_error(
      code,
      fmt::format("cannot launch grid {}, block {}, cluster {}, {} bytes of shared memory",
                  text(shape.grid), text(shape.block), text(shape.cluster), shape.shared_bytes));
}

Result<int> blocks_per_sm(CUfunction function, const LaunchShape& shape) {
  FATUNE_TRY_STATUS(check_range(shape));
  int count = 0;
  const std::int64_t threads = shape.block[0] * shape.block[1] * shape.block[2];
  FATUNE_TRY_STATUS(check(driver().occupancy(&count, function, static_cast<int>(threads),
                                             static_cast<std::size_t>(shape.shared_bytes)),
                          "cannot ask for the occupancy"));
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

Result<TensorMap> make_tensor_map(CUdeviceptr tensor, const TensorMapFacts& facts) {
  FATUNE_TRY_STATUS(check_map(facts));
  FATUNE_TRY_STATUS(load_driver());
  if (driver().encode_tensor_map == nullptr) {
    return environment_error(
        "the NVIDIA driver is too old for tensor maps: it lacks cuTensorMapEncodeTiled, which came "
        "with CUDA 12.0 (525)");
  }
  auto map = std::make_unique<CUtensorMap>();
  FATUNE_TRY_STATUS(
      check(encode_tensor_map(driver(), facts, tensor, map.get()), "cannot make a tensor map"));
  return map;
}

}  // namespace fatune::gpu
