// in_layer.cpp - the last layer's inputs, kept where candidates are verified, with references; an
// output between two products to right and the same as on those inputs, or not.
#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "worker/device/device_problem.hpp"
#include "worker/device/gates.hpp"

namespace fatune {
namespace {

/// Chosen: zeros are off by 1, what the accuracy rules pass by a few per cent. In long rows of the
/// layer's inputs, whose v nobody doubles, those rules alone could pass zeros.
constexpr double kMostOff = 0.5;

Failure wrong_in_layer(const std::string& finding) {
  return {Outcome::kWrongResult, std::string(kInLayerGate) + ": " + finding, false};
}

}  // namespace

Result<Layer*> DeviceProblem::layer() {
  if (!layer_) layer_ = make_layer();
  if (!*layer_) return Error(layer_->error());
  return (*layer_)->get();
}

/// Before a candidate runs between its products, which could change what it reads there.
Result<std::unique_ptr<Layer>> DeviceProblem::make_layer() {
  const CUstream stream = session_->stream.raw();
  FATUNE_TRY(auto layer,
             Layer::make(session_->context, stream, in_given_types(problem()),
                         session_->facts.l2_bytes, *session_->sampler, session_->open_gemm));
  layer_set_.which = order_.cases.front();
  for (const GuardedBuffer* input : layer->last_inputs()) {
    std::vector<std::byte>& memory = layer_memory_.emplace_back(input->bytes());
    FATUNE_TRY_STATUS(gpu::copy_to_host(memory, input->address(), stream));
    FATUNE_TRY(GuardedBuffer copy,
               GuardedBuffer::of(session_->context, input->name(), memory, stream));
    layer_set_.inputs.push_back(std::move(copy));
  }
  FATUNE_TRY(layer_set_.checksums, checks_.checksums(pointers_to({layer_set_.inputs})));
  return layer;
}

/// In the order of the plan.
std::vector<HostTensor> DeviceProblem::layer_tensors() const {
  std::vector<HostTensor> tensors(input_plans_.size());
  const std::vector<BufferPlan> buffers = buffers_of(input_plans_);
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    for (const std::size_t at : buffers[i].tensors) {
      const TensorPlan& plan = input_plans_[at];
      const std::size_t first = static_cast<std::size_t>(plan.first) * plan.width();
      tensors[at] = {plan.name, std::vector<std::byte>(plan.bytes())};
      gather_rows(plan, std::span(layer_memory_[i]).subspan(first), tensors[at].bytes);
    }
  }
  return tensors;
}

Result<InputSet*> DeviceProblem::layer_set(bool judged) {
  FATUNE_TRY_STATUS(layer());
  if (judged && layer_set_.outputs.empty()) {
    FATUNE_TRY(static_cast<References&>(layer_set_),
               references_->make(layer_set_.which, 0, addresses(layer_set_), layer_tensors()));
  }
  return &layer_set_;
}

/// What the products do not write again themselves.
Status DeviceProblem::mend_layer() {
  if (!layer_ || !*layer_) return {};
  const CUstream stream = session_->stream.raw();
  const Layer& layer = ***layer_;
  for (const GuardedBuffer* output : layer.outputs()) FATUNE_TRY_STATUS(output->fill_bands(stream));
  for (const auto& inputs : {pointers_to({layer_set_.inputs}), layer.last_inputs()}) {
    FATUNE_TRY(const auto sums, checks_.checksums(inputs));
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      FATUNE_TRY_STATUS(inputs[i]->fill_bands(stream));
      if (sums[i] == layer_set_.checksums[i]) continue;
      FATUNE_TRY_STATUS(gpu::copy_to_device(inputs[i]->address(), layer_memory_[i], stream));
    }
  }
  return {};
}

/// By itself, where it was verified: under all gates of a set of inputs, if there are references.
MaybeFailure GateKeeper::run_on_layer_set(InputSet& set) {
  session_.sampler->set_limit(problem_.kernel_limit());
  const bool judged = !set.outputs.empty();
  MaybeFailure failure = judged ? verify_set(set) : run_and_look(set, kPoisons[0]);
  if (!failure && judged && !program_.own_output()) {
    if (const double off = judge(set, 0).figures.relative_l2; off > kMostOff)
      return wrong_in_layer(fmt::format("on a layer's inputs the output is off by {:.3g}", off));
  }
  if (failure && failure->outcome == Outcome::kWrongResult)
    return wrong_in_layer("on a layer's inputs, " + failure->reason);
  return failure;
}

/// What lies around the last attention's tensors, and its inputs.
MaybeFailure GateKeeper::look_around_in_layer(const Layer& layer, const InputSet& set) {
  std::vector<const GuardedBuffer*> around = layer.last_inputs();
  const auto sums = problem_.checks().checksums(around);
  if (!sums) return failed(sums);
  for (std::size_t i = 0; i < around.size(); ++i) {
    if ((*sums)[i] != set.checksums[i])
      return wrong_in_layer("between two products the kernel changed " + around[i]->name());
  }
  std::ranges::copy(layer.outputs(), std::back_inserter(around));
  std::ranges::copy(pointers_to({program_.scratch()}), std::back_inserter(around));
  const auto findings = problem_.checks().check_bands(around);
  if (!findings) return failed(findings);
  if (findings->empty()) return std::nullopt;
  return wrong_in_layer("between two products, " + describe(findings->front()));
}

MaybeFailure GateKeeper::check_in_layer(const Layer& layer, const HotLoop& loop, bool judged) {
  const auto set = problem_.layer_set(judged);
  if (!set) return failed(set);
  if (auto failure = run_on_layer_set(**set)) return failure;
  const auto checked = pointers_to({checked_outputs()});
  const auto alone = problem_.checks().checksums(checked);
  if (!alone) return failed(alone);
  std::vector<const GuardedBuffer*> outputs = layer.outputs();
  outputs.resize(checked.size());
  for (const GuardedBuffer* output : outputs) {
    const Status filled =
        gpu::fill_bytes(output->address(), pattern_, output->bytes(), session_.stream.raw());
    if (auto failure = failed(filled)) return failure;
  }
  if (auto failure = unfinished(session_.sampler->time_loop(loop))) return failure;
  if (auto failure = look_around_in_layer(layer, **set)) return failure;
  const auto between = problem_.checks().checksums(outputs);
  if (!between) return failed(between);
  if (*between == *alone) {
    verification_.gates.push_back(kInLayerGate);
    return std::nullopt;
  }
  const std::string finding = "between two products the output is not that of a launch by itself";
  if (!program_.may_vary()) return wrong_in_layer(finding);
  return judge_in_layer(outputs, **set, finding);
}

/// Of one whose runs may differ: by itself, where there are references.
MaybeFailure GateKeeper::judge_in_layer(std::span<const GuardedBuffer* const> outputs,
                                        const InputSet& set, const std::string& finding) {
  if (!set.outputs.empty()) {
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (auto failure = failed(problem_.checks().swap(*outputs[i], problem_.outputs()[i])))
        return failure;
    }
    if (auto failure = to_host(1)) return failure;
    if (const Judgement verdict = judge(set, 1).worst(); !verdict.passed)
      return wrong_in_layer(finding + ", and is wrong: " + verdict.reason);
  }
  verification_.not_run.push_back(
      fmt::format("{}: {}, as of one whose runs may differ", kInLayerGate, finding));
  return std::nullopt;
}

}  // namespace fatune
