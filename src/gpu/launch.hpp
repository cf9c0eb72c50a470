// launch.hpp - starts a function with grid, cluster and shared memory; asks what it needs.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "core/result.hpp"
#include "gpu/driver/launch_config.hpp"

namespace fatune::gpu {

/// Once per function before its first launch or occupancy query, see settings_of().
Status prepare(CUfunction function, const LaunchShape& shape);

/// `arguments` are pointers to the argument values, in the entry's order; copied before the return.
/// Queues only. Inside capture() the launch becomes a node of the graph.
Status launch(CUfunction function, const LaunchShape& shape, std::span<void*> arguments,
              CUstream stream);

/// Resident blocks per multiprocessor; 0 when none fits.
Result<int> blocks_per_sm(CUfunction function, const LaunchShape& shape);

struct FunctionFacts {
  int registers = 0;             ///< per thread
  std::int64_t local_bytes = 0;  ///< per thread: stack frame and spills
  std::int64_t static_shared_bytes = 0;
  int max_threads_block = 0;
};
Result<FunctionFacts> function_facts(CUfunction function);

/// On the heap, where it keeps the alignment that the driver asks for. The pointer is the launch
/// argument of a `const __grid_constant__ CUtensorMap`.
using TensorMap = std::unique_ptr<CUtensorMap>;
/// Facts that TMA cannot take, and a driver or device without it, are errors that say so.
Result<TensorMap> make_tensor_map(CUdeviceptr tensor, const TensorMapFacts& facts);

}  // namespace fatune::gpu
