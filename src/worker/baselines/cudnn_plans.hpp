// cudnn_plans.hpp - an operation graph to execution plans, in the order of cuDNN's heuristics.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "worker/baselines/cudnn_descriptor.hpp"
#include "worker/baselines/cudnn_graph.hpp"

namespace fatune {

/// One way to run the graph.
struct CudnnPlanEntry {
  CudnnDescriptor plan;
  std::string engine;  ///< "engine 1 (knobs 24=3)"; tells plans apart
  std::int64_t workspace_bytes = 0;
};

/// Is asked for each plan that cuDNN can finalize, best first; says whether to go on.
enum class CudnnSearch { kGoOn, kStop };
using CudnnPlanVisitor = std::function<CudnnSearch(CudnnPlanEntry)>;

/// Heuristic A, then B, then the fallback; a plan that an earlier one named is not visited twice.
/// What cuDNN refuses is appended to `refusals`, once each.
void visit_cudnn_plans(const CudnnFunctions& functions, void* handle, const CudnnGraph& graph,
                       const CudnnPlanVisitor& visitor, std::vector<std::string>& refusals);

/// What a plan runs on: device addresses of the graph's tensors and of the workspace (0: none).
struct CudnnBinding {
  std::vector<std::int64_t> ids;
  std::vector<void*> pointers;
};

/// The graph's host values point into `graph`, which must outlive the pack.
Result<CudnnDescriptor> make_cudnn_pack(const CudnnFunctions& functions, const CudnnGraph& graph,
                                        CudnnBinding binding, CUdeviceptr workspace);

}  // namespace fatune
