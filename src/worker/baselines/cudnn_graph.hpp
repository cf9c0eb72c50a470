// cudnn_graph.hpp - an attention problem to the operation graph that cuDNN's fused engines know.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "core/result.hpp"
#include "model/problem/problem.hpp"
#include "worker/baselines/cudnn_library.hpp"

namespace fatune {

/// Why cuDNN of that version is not asked for the problem: fp8 (needs scale tensors), rows that see
/// no key (its result is undefined, ours is zero), and what NVIDIA's own frontend refuses.
Status check_cudnn_problem(const Problem& problem, std::size_t version);

/// Names of tensors in a graph and in the pointers bound to it.
namespace cudnn_id {
inline constexpr std::int64_t kQ = 1, kK = 2, kV = 3, kOut = 4;
inline constexpr std::int64_t kScale = 5, kMasked = 6, kSeqKv = 7, kSeqQ = 8;
inline constexpr std::int64_t kFirstVirtual = 100;  ///< results inside the graph count up from here
}  // namespace cudnn_id

/// A number on the host that the graph reads at each execution.
struct CudnnScalar {
  std::int64_t id = 0;
  std::variant<float, std::int32_t> value;
};

struct CudnnGraph {
  std::vector<CudnnScalar> scalars;
  std::vector<CudnnDescriptor> parts;  ///< what `graph` refers to
  CudnnDescriptor graph;
};

/// Matmul, scale, mask, softmax and matmul as operations of their own. The problem must have passed
/// check_cudnn_problem().
Result<CudnnGraph> build_cudnn_graph(const CudnnFunctions& functions, void* handle,
                                     const Problem& problem);

}  // namespace fatune
