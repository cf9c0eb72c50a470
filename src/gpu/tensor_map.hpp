// tensor_map.hpp - encodes the CUtensorMap of a contiguous tensor, for TMA.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include <cuda.h>

#include "core/result.hpp"

namespace fatune::gpu {

/// Element types as TMA knows them; the fp8 types are plain bytes.
enum class TensorElement { kF16, kBf16, kByte };

/// Rank 4, fastest dimension first. Reads outside give zeros, writes outside are dropped.
struct TensorMapShape {
  TensorElement element = TensorElement::kF16;
  std::array<std::int64_t, 4> sizes{};  ///< elements: head_dim, sequence, heads, batch
  std::array<std::int64_t, 4> box{};    ///< elements of one TMA load, at most 256 each
  int swizzle_bytes = 0;                ///< 0, 32, 64 or 128
};

/// On the heap, where it keeps the alignment that the driver asks for. The pointer is the launch
/// argument of a `const __grid_constant__ CUtensorMap`.
using TensorMap = std::unique_ptr<CUtensorMap>;

/// A shape that TMA cannot take, and a driver or device without it, are errors that say so.
Result<TensorMap> make_tensor_map(CUdeviceptr tensor, const TensorMapShape& shape);

}  // namespace fatune::gpu
