// launch_config.hpp - launch shapes and tensor maps to what the driver's calls take.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <cuda.h>

#include "gpu/driver/table.hpp"
#include "model/wisdom/kernel_facts.hpp"

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
LaunchShape shape_of(const StageFacts& stage);

/// Without a stream, and with the attributes beside it; any number of launches may use it.
class LaunchConfig {
 public:
  LaunchConfig() = default;
  /// Sizes fit into 32 bits.
  explicit LaunchConfig(const LaunchShape& shape);
  /// Points into this object.
  CUlaunchConfig on(CUstream stream) const;

 private:
  CUlaunchAttribute& add(CUlaunchAttributeID id);

  CUlaunchConfig config_{};
  std::array<CUlaunchAttribute, 2> attributes_{};
};

/// What a function is allowed before its first launch or occupancy query: the dynamic shared memory
/// and, if there is any, the largest shared-memory carveout (else the driver's own choice leaves
/// more to the L1 cache); clusters above the portable 8 blocks.
struct FunctionSetting {
  CUfunction_attribute attribute;
  int value = 0;
  std::string what;  ///< "100000 bytes of dynamic shared memory"
};
std::vector<FunctionSetting> settings_of(const LaunchShape& shape);

/// Reads outside the tensor give zeros, writes outside are dropped. `map` is aligned to 64 bytes.
CUresult encode_tensor_map(const Driver& driver, const TensorMapFacts& facts, CUdeviceptr tensor,
                           CUtensorMap* map);

}  // namespace fatune::gpu
