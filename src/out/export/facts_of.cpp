// facts_of.cpp - evaluates a candidate's launch and writes down what tensor maps leave implicit.
#include "out/export/facts_of.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "model/kernel/vocabulary.hpp"

namespace fatune {
namespace {

StageFacts facts_of(const StagePlan& plan) {
  StageFacts stage;
  stage.entry = plan.entry;
  std::copy_n(plan.grid, 3, stage.grid.begin());
  std::copy_n(plan.block, 3, stage.block.begin());
  std::copy_n(plan.cluster, 3, stage.cluster.begin());
  stage.shared_bytes = plan.shared_bytes;
  stage.static_shared_bytes = plan.static_shared_bytes;
  stage.dependent = plan.dependent;
  stage.arguments = plan.arguments;
  return stage;
}

MapElement element_of(Dtype dtype) {
  if (dtype == Dtype::kF16) return MapElement::kF16;
  return dtype == Dtype::kBf16 ? MapElement::kBf16 : MapElement::kByte;
}

/// The tensors are contiguous, so sizes and strides follow from the problem.
TensorMapFacts facts_of(const TensorMapPlan& plan, const Problem& problem) {
  const bool query_like = plan.tensor == "q" || plan.tensor == "out";
  TensorMapFacts map;
  map.name = plan.name;
  map.tensor = plan.tensor;
  map.element = element_of(problem.dtype);
  map.sizes = {problem.head_dim, query_like ? problem.seq_q : problem.seq_kv,
               query_like ? problem.heads : problem.kv_heads, problem.batch};
  std::int64_t stride = size_of(problem.dtype);
  for (std::size_t i = 0; i < map.strides_bytes.size(); ++i) {
    stride *= map.sizes[i];
    map.strides_bytes[i] = stride;
  }
  std::copy_n(plan.box, 4, map.box.begin());
  map.swizzle_bytes = plan.swizzle;
  return map;
}

/// The tensors are contiguous, so strides follow from shapes.
TensorFacts facts_of(const TensorPlan& plan) {
  TensorFacts tensor;
  tensor.name = plan.name;
  tensor.type = plan.type ? name(*plan.type) : "f32";
  tensor.shape = plan.shape;
  tensor.strides.assign(plan.shape.size(), 1);
  for (std::size_t i = plan.shape.size() - 1; i-- > 0;)
    tensor.strides[i] = tensor.strides[i + 1] * plan.shape[i + 1];
  tensor.output = plan.output;
  return tensor;
}

/// Only what fatune compiles can leave it.
Status check_code(const Manifest& manifest, const LaunchPlan& plan) {
  if (manifest.role == Role::kFault) {
    return usage_error(
        fmt::format("{} is a fixture that computes wrongly on purpose: it is not "
                    "exported",
                    manifest.name));
  }
  for (std::size_t i = 0; i < plan.stages.size(); ++i) {
    if (!plan.stages[i].gemm) continue;
    return usage_error(fmt::format(
        "{} cannot be exported: its stage {} is a matrix product of cuBLAS, which has no machine "
        "code of ours. Tune kernels without library stages: fatune sweep --kernel NAME",
        manifest.name, i + 1));
  }
  return {};
}

}  // namespace

Result<KernelFacts> facts_of(const Candidate& candidate, const DeviceLimits& limits) {
  FATUNE_TRY(const LaunchPlan plan, launch_plan(candidate, limits));
  FATUNE_TRY_STATUS(check_code(candidate.kernel->manifest, plan));
  KernelFacts facts;
  facts.kernel = candidate.kernel->manifest.name;
  facts.config = dump(to_json(candidate.config));
  facts.problem = candidate.problem;
  facts.arch = name(limits.arch);
  facts.compute_major = limits.arch.number / 10;
  facts.compute_minor = limits.arch.number % 10;
  facts.exact_compute = limits.arch.suffix == 'a';
  if (candidate.problem.custom) {
    const Operation& operation = *candidate.kernel->manifest.operation;
    FATUNE_TRY(const OperationPlan tensors, operation.plan(candidate.problem));
    for (const TensorPlan& tensor : tensors.tensors) facts.tensors.push_back(facts_of(tensor));
  } else {
    facts.scale = static_cast<double>(softmax_scale(candidate.problem));
  }
  facts.sm_count = limits.sm_count;
  for (const StagePlan& stage : plan.stages) facts.stages.push_back(facts_of(stage));
  for (const TensorMapPlan& map : plan.tensor_maps)
    facts.tensor_maps.push_back(facts_of(map, candidate.problem));
  for (const BufferPlan& buffer : plan.scratch)
    facts.scratch.push_back({buffer.name, buffer.bytes});
  return facts;
}

}  // namespace fatune
