// facts_of.cpp - evaluates a candidate's launch and writes down what tensor maps leave implicit.
#include "out/export/facts_of.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "model/kernel/vocabulary.hpp"

namespace fatune {
namespace {

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
  facts.stages.assign(plan.stages.begin(), plan.stages.end());
  for (const TensorMapPlan& map : plan.tensor_maps)
    facts.tensor_maps.push_back(facts_of(map, candidate.problem));
  facts.scratch = plan.scratch;
  return facts;
}

}  // namespace fatune
