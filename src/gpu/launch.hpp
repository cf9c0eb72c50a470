// launch.hpp - starts a function with grid, cluster and shared memory; asks what it needs.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include <cuda.h>

#include "core/result.hpp"

namespace fatune::gpu {

using Extent = std::array<std::int64_t, 3>;

struct LaunchShape {
  Extent grid{1, 1, 1};
  Extent block{1, 1, 1};
  Extent cluster{1, 1, 1};
  std::int64_t shared_bytes = 0;  ///< dynamic
  /// Programmatic dependent launch: may start while the preceding kernel of the stream still runs,
  /// and must wait for it (griddepcontrol.wait) before it touches its data. From sm_90 on.
  bool dependent = false;
};

/// Once per function before its first launch or occupancy query: allows the dynamic shared memory
/// and, if there is any, asks for the largest shared-memory carveout; allows clusters above 8
/// blocks when the shape has one.
Status prepare(CUfunction function, const LaunchShape& shape);

/// `arguments` are pointers to the argument values, in the entry's order; copied before the return.
/// Queues only. Inside capture() the launch becomes a node of the graph.
Status launch(CUfunction function, const LaunchShape& shape, std::span<void*> arguments,
              CUstream stream);

/// Resident blocks per multiprocessor; 0 when none fits.
Result<int> blocks_per_sm(CUfunction function, const LaunchShape& shape);
/// Clusters that the whole device holds at once; 0 when none fits.
Result<int> resident_clusters(CUfunction function, const LaunchShape& shape);

struct FunctionFacts {
  int registers = 0;             ///< per thread
  std::int64_t local_bytes = 0;  ///< per thread: stack frame and spills
  std::int64_t static_shared_bytes = 0;
  int max_threads_block = 0;
};
Result<FunctionFacts> function_facts(CUfunction function);

}  // namespace fatune::gpu
