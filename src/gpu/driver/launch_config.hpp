// launch_config.hpp: Declares launch shapes and tensor maps as the driver's calls take them.
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
  std::int64_t shared_bytes = 0;  ///< dynamic shared memory
  /// Programmatic dependent launch, from sm_90 on: the kernel may start while its predecessor on
  /// the stream still runs. It must wait (griddepcontrol.wait) before it touches the predecessor's
  /// data.
  bool dependent = false;
};
LaunchShape shape_of(const StageFacts& stage);

/// A launch configuration without stream, reusable for any number of launches.
class LaunchConfig {
 public:
  LaunchConfig() = default;
  /// Sizes must fit into 32 bits.
  explicit LaunchConfig(const LaunchShape& shape);
  /// The result points into this object.
  CUlaunchConfig on(CUstream stream) const;

 private:
  CUlaunchAttribute& add(CUlaunchAttributeID id);

  CUlaunchConfig config_{};
  std::array<CUlaunchAttribute, 2> attributes_{};
};

/// Attribute of a function to set before its first launch or occupancy query. Dynamic shared memory
/// comes with the largest shared-memory carveout, because the driver would leave more to the L1
/// cache. Clusters above the portable 8 blocks must be allowed.
struct FunctionSetting {
  CUfunction_attribute attribute;
  int value = 0;
  std::string what;  ///< "100000 bytes of dynamic shared memory"
};
std::vector<FunctionSetting> settings_of(const LaunchShape& shape);

/// Reads outside the tensor return zeros, writes outside are dropped. `map` is aligned to 64 bytes.
CUresult encode_tensor_map(const Driver& driver, const TensorMapFacts& facts, CUdeviceptr tensor,
                           CUtensorMap* map);

}  // namespace fatune::gpu
