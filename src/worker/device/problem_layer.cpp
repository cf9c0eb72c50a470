// problem_layer.cpp: Copies what the last attention of a layer reads, and puts it back.
#include "worker/device/problem_layer.hpp"

#include "gpu/objects.hpp"
#include "worker/verify/inputs.hpp"

namespace fatune {

Result<std::unique_ptr<ProblemLayer>> ProblemLayer::make(DeviceSession& session,
                                                         const BeginOrder& order,
                                                         const std::vector<TensorPlan>& plans,
                                                         DeviceChecks& checks) {
  const CUstream stream = session.stream.raw();
  std::unique_ptr<ProblemLayer> made(new ProblemLayer(stream, plans, checks));
  FATUNE_TRY(made->layer_,
             Layer::make(session.context, stream, in_given_types(order.problem),
                         session.facts.l2_bytes, *session.sampler, session.open_gemm));
  InputSet& inputs = made->inputs_;
  inputs.which = order.cases.front();
  for (const GuardedBuffer* input : made->layer_->last_inputs()) {
    std::vector<std::byte>& memory = made->memory_.emplace_back(input->bytes());
    FATUNE_TRY_STATUS(gpu::copy_to_host(memory, input->address(), stream));
    FATUNE_TRY(GuardedBuffer copy,
               GuardedBuffer::of(session.context, input->name(), memory, stream));
    inputs.inputs.push_back(std::move(copy));
  }
  FATUNE_TRY(inputs.checksums, checks.checksums(pointers_to({inputs.inputs})));
  return made;
}

std::vector<HostTensor> ProblemLayer::tensors() const {
  std::vector<HostTensor> tensors(plans_.size());
  const std::vector<BufferPlan> buffers = buffers_of(plans_);
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    for (const std::size_t at : buffers[i].tensors) {
      const TensorPlan& plan = plans_[at];
      const std::size_t first = static_cast<std::size_t>(plan.first) * plan.width();
      tensors[at] = {plan.name, std::vector<std::byte>(plan.bytes())};
      gather_rows(plan, std::span(memory_[i]).subspan(first), tensors[at].bytes);
    }
  }
  return tensors;
}

Status ProblemLayer::mend() {
  for (const GuardedBuffer* output : layer_->outputs())
    FATUNE_TRY_STATUS(output->fill_bands(stream_));
  for (const auto& inputs : {pointers_to({inputs_.inputs}), layer_->last_inputs()}) {
    FATUNE_TRY(const auto sums, checks_.checksums(inputs));
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      FATUNE_TRY_STATUS(inputs[i]->fill_bands(stream_));
      if (sums[i] == inputs_.checksums[i]) continue;
      FATUNE_TRY_STATUS(gpu::copy_to_device(inputs[i]->address(), memory_[i], stream_));
    }
  }
  return {};
}

}  // namespace fatune
