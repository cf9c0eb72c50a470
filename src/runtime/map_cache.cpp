// map_cache.cpp - encodes tensor maps and gives up the set that was not used for the longest time.
#include "runtime/map_cache.hpp"

#include <algorithm>

#include "core/check.hpp"

namespace fatune::rt {
namespace {

CUtensorMapDataType element_of(MapElement element) {
  switch (element) {
    case MapElement::kF16:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    case MapElement::kBf16:
      return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    case MapElement::kByte:
      break;
  }
  return CU_TENSOR_MAP_DATA_TYPE_UINT8;
}

CUtensorMapSwizzle swizzle_of(int bytes) {
  switch (bytes) {
    case 32:
      return CU_TENSOR_MAP_SWIZZLE_32B;
    case 64:
      return CU_TENSOR_MAP_SWIZZLE_64B;
    case 128:
      return CU_TENSOR_MAP_SWIZZLE_128B;
    default:
      return CU_TENSOR_MAP_SWIZZLE_NONE;
  }
}

Tensor tensor_of(const std::string& name) {
  const auto found = std::find(kTensorNames.begin(), kTensorNames.end(), name);
  FATUNE_CHECK(found != kTensorNames.end(), "the facts' reader knows the tensors of maps");
  return static_cast<Tensor>(found - kTensorNames.begin());
}

}  // namespace

MapCache::MapCache(const Driver& driver, const std::vector<TensorMapFacts>& maps)
    : driver_(driver) {
  FATUNE_CHECK(maps.size() <= kMostMaps, "Program::load refuses kernels with more");
  for (const TensorMapFacts& facts : maps) recipes_.push_back(recipe(facts));
}

MapCache::Recipe MapCache::recipe(const TensorMapFacts& facts) {
  Recipe recipe;
  recipe.name = facts.name;
  recipe.tensor = tensor_of(facts.tensor);
  recipe.element = element_of(facts.element);
  std::copy(facts.sizes.begin(), facts.sizes.end(), recipe.sizes.begin());
  std::copy(facts.strides_bytes.begin(), facts.strides_bytes.end(), recipe.strides.begin());
  for (std::size_t i = 0; i < recipe.box.size(); ++i) {
    recipe.box[i] = static_cast<cuuint32_t>(facts.box[i]);
  }
  recipe.swizzle = swizzle_of(facts.swizzle_bytes);
  return recipe;
}

Outcome<Done> MapCache::encode(const Addresses& addresses, Maps& maps) const {
  constexpr std::array<cuuint32_t, 4> kStep = {1, 1, 1, 1};
  for (std::size_t i = 0; i < recipes_.size(); ++i) {
    const Recipe& recipe = recipes_[i];
    const CUresult code = driver_.encode_tensor_map(
        &maps[i], recipe.element, 4, reinterpret_cast<void*>(addresses[recipe.tensor]),
        recipe.sizes.data(), recipe.strides.data(), recipe.box.data(), kStep.data(),
        CU_TENSOR_MAP_INTERLEAVE_NONE, recipe.swizzle, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
        CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (code != CUDA_SUCCESS)
      return check(driver_, code, "cannot encode tensor map " + recipe.name);
  }
  return Done{};
}

Outcome<Done> MapCache::fill(const Addresses& addresses, Maps& maps) {
  if (recipes_.empty()) return Done{};
  const std::lock_guard guard(lock_);
  Entry* oldest = entries_.data();
  for (Entry& entry : entries_) {
    if (entry.used != 0 && entry.addresses == addresses) {
      entry.used = ++turn_;
      std::copy_n(entry.maps.begin(), recipes_.size(), maps.begin());
      return Done{};
    }
    if (entry.used < oldest->used) oldest = &entry;
  }
  oldest->used = 0;  // until it is whole again
  FATUNE_TRY_STATUS(encode(addresses, oldest->maps));
  oldest->addresses = addresses;
  oldest->used = ++turn_;
  std::copy_n(oldest->maps.begin(), recipes_.size(), maps.begin());
  return Done{};
}

}  // namespace fatune::rt
