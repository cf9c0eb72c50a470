// in_layer.cpp: Compares the output between the products of a layer with that of a lone launch.
#include <algorithm>
#include <iterator>
#include <vector>

#include <fmt/format.h>

#include "worker/gates/gates.hpp"

namespace fatune {
namespace {

/// Chosen: zeros are off by 1, and outputs within the accuracy rules by a few per cent. Those rules
/// could pass zeros for long rows of a layer's inputs, because v is not doubled there.
constexpr double kMostOff = 0.5;

Failure wrong_in_layer(const std::string& finding) { return refused(GateId::kInLayer, finding); }

/// Runs the candidate by itself on the layer's inputs: under the gates of a set of inputs if there
/// are references, else under those of every run.
MaybeFailure run_on_layer_set(GateContext& context, InputSet& set) {
  context.session.sampler->set_limit(context.problem.kernel_limit());
  const bool judged = !set.outputs.empty();
  MaybeFailure failure = judged ? verify_set(context, set) : run_guarded(context, set, kPoisons[0]);
  if (!failure && judged && !context.program.own_output()) {
    if (const double off = context.judged.figures.relative_l2; off > kMostOff)
      return wrong_in_layer(fmt::format("on a layer's inputs the output is off by {:.3g}", off));
  }
  if (failure && failure->outcome == Outcome::kWrongResult)
    return wrong_in_layer("on a layer's inputs, " + failure->reason);
  return failure;
}

/// Checks the inputs of the last attention, and what lies around its tensors.
MaybeFailure check_layer_guards(GateContext& context, const InputSet& set) {
  const Layer& layer = *context.in_layer.layer;
  DeviceChecks& checks = context.problem.checks();
  std::vector<const GuardedBuffer*> around = layer.last_inputs();
  const auto sums = checks.checksums(around);
  if (!sums) return context.failed(sums);
  for (std::size_t i = 0; i < around.size(); ++i) {
    if ((*sums)[i] != set.checksums[i])
      return wrong_in_layer("between two products the kernel changed " + around[i]->name());
  }
  std::ranges::copy(layer.outputs(), std::back_inserter(around));
  std::ranges::copy(pointers_to({context.program.scratch()}), std::back_inserter(around));
  const auto findings = checks.check_bands(around);
  if (!findings) return context.failed(findings);
  if (findings->empty()) return std::nullopt;
  return wrong_in_layer("between two products, " + describe(findings->front()));
}

/// Judges a different output of a program that may vary by itself, if there are references.
GateReport judge_in_layer(GateContext& context, std::span<const GuardedBuffer* const> outputs,
                          const InputSet& set) {
  const std::string finding = "between two products the output is not that of a launch by itself";
  if (!context.program.may_vary()) return wrong_in_layer(finding);
  DeviceProblem& problem = context.problem;
  if (!set.outputs.empty()) {
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const Status swapped = problem.checks().swap(*outputs[i], problem.outputs()[i]);
      if (auto failure = context.failed(swapped)) return failure;
    }
    if (auto failure = context.fetch_outputs(1)) return failure;
    if (const Judgement verdict = context.judge(set, 1).worst(); !verdict.passed)
      return wrong_in_layer(finding + ", and is wrong: " + verdict.reason);
  }
  return GateReport::not_run(finding + ", as of one whose runs may differ");
}

}  // namespace

GateReport check_in_layer(GateContext& context) {
  DeviceProblem& problem = context.problem;
  const auto set = problem.layer_set(context.in_layer.judged);
  if (!set) return context.failed(set);
  if (auto failure = run_on_layer_set(context, **set)) return failure;
  const auto checked = pointers_to({context.checked_outputs()});
  const auto alone = problem.checks().checksums(checked);
  if (!alone) return context.failed(alone);
  std::vector<const GuardedBuffer*> outputs = context.in_layer.layer->outputs();
  outputs.resize(checked.size());
  for (const GuardedBuffer* output : outputs) {
    const Status filled = gpu::fill_bytes(output->address(), context.pattern, output->bytes(),
                                          context.session.stream.raw());
    if (auto failure = context.failed(filled)) return failure;
  }
  const auto time = context.session.sampler->time_loop(*context.in_layer.loop);
  if (auto failure = context.unfinished(time)) return failure;
  if (auto failure = check_layer_guards(context, **set)) return failure;
  const auto between = problem.checks().checksums(outputs);
  if (!between) return context.failed(between);
  if (*between == *alone) return {};
  return judge_in_layer(context, outputs, **set);
}

}  // namespace fatune
