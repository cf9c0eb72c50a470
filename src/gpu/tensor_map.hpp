// tensor_map.hpp - describes a contiguous tensor in device memory for the bulk tensor copy engine.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include <cuda.h>

#include "core/result.hpp"

namespace fatune::gpu {

/// What the copy engine has to know of an element; the fp8 types are plain bytes to it.
enum class TensorElement { kF16, kBf16, kByte };

/// Rank 4, fastest dimension first. Reads outside give zeros, writes outside are dropped.
struct TensorMapShape {
  TensorElement element = TensorElement::kF16;
  std::array<std::int64_t, 4> sizes{};  ///< elements: head_dim, sequence, heads, batch
  std::array<std::int64_t, 4> box{};    ///< elements brought by one copy, at most 256 each
  int swizzle_bytes = 0;                ///< 0, 32, 64 or 128
};

/// On the heap, where it keeps the alignment that the driver asks for. The pointer is the launch
/// argument of a `const __grid_constant__ CUtensorMap`.
using TensorMap = std::unique_ptr<CUtensorMap>;

/// A shape that the engine cannot take, and a driver or device without it, are errors that say so.
Result<TensorMap> make_tensor_map(CUdeviceptr tensor, const TensorMapShape& shape);

}  // namespace fatune::gpu
