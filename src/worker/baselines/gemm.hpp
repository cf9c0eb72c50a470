// gemm.hpp - a plan of batched matrix products to work of a library that can be queued.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>

#include "core/result.hpp"
#include "gpu/driver.hpp"
#include "model/kernel/gemm.hpp"

namespace fatune {

/// Device addresses of a, b, c.
using GemmAddresses = std::array<CUdeviceptr, 3>;

class BatchedGemm {
 public:
  virtual ~BatchedGemm() = default;
  /// Device memory that queue() needs; its contents never matter.
  virtual std::size_t workspace_bytes() const = 0;
  /// Only queues; fit for graph capture after a first run outside of one, which may load code.
  virtual Status queue(const GemmAddresses& addresses, CUdeviceptr workspace,
                       CUstream stream) const = 0;
  /// "cuBLASLt 13.1.0, algorithm 0 of 8".
  virtual std::string detail() const = 0;
};

/// Needs a current context. A missing library is an environment error that names every place tried
/// and what installs it; an algorithm that the library does not offer is a device error that says
/// how many there are.
Result<std::unique_ptr<BatchedGemm>> open_gemm(const GemmPlan& plan);

}  // namespace fatune
