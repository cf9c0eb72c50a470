// map_cache.hpp - addresses of tensors to the tensor maps of a kernel, encoded once for each set.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <vector>

#include "model/wisdom/kernel_facts.hpp"
#include "runtime/driver.hpp"

namespace fatune::rt {

/// Where a launch reads and writes; the order is that of kTensorNames.
enum Tensor : std::uint8_t { kQ, kK, kV, kOut, kLse, kTensors };
constexpr std::array<const char*, kTensors> kTensorNames = {"q", "k", "v", "out", "lse"};
using Addresses = std::array<CUdeviceptr, kTensors>;

constexpr std::size_t kMostMaps = 8;  ///< of a kernel; ours have 4 at most
using Maps = std::array<CUtensorMap, kMostMaps>;

/// Keeps the maps of the last few sets of addresses. A map depends on nothing but the address and
/// the kernel's facts, so none ever goes out of date. Any number of threads.
class MapCache {
 public:
  /// The facts were read by from_json<KernelFacts>, which checks them; at most kMostMaps.
  MapCache(const Driver& driver, const std::vector<TensorMapFacts>& maps);

  /// The kernel's maps, in the order of its facts; the rest of `maps` is left alone.
  Outcome<Done> fill(const Addresses& addresses, Maps& maps);

 private:
  struct Recipe {
    std::string name;
    Tensor tensor = kQ;
    CUtensorMapDataType element = CU_TENSOR_MAP_DATA_TYPE_UINT8;
    std::array<cuuint64_t, 4> sizes{};
    std::array<cuuint64_t, 3> strides{};  ///< bytes
    std::array<cuuint32_t, 4> box{};
    CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_NONE;
  };
  struct Entry {
    Addresses addresses{};
    std::uint64_t used = 0;  ///< turn of the last use; 0: never
    Maps maps{};
  };
  static Recipe recipe(const TensorMapFacts& facts);
  Outcome<Done> encode(const Addresses& addresses, Maps& maps) const;

  const Driver& driver_;
  std::vector<Recipe> recipes_;
  std::mutex lock_;
  std::array<Entry, 8> entries_;  // chosen: more sets than a decoder's layers would share a kernel
  std::uint64_t turn_ = 0;
};

}  // namespace fatune::rt
