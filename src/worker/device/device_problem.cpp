// device_problem.cpp: Brings inputs and layers to the device, and makes their references.
#include "worker/device/device_problem.hpp"

#include <algorithm>
#include <future>
#include <utility>

#include <fmt/format.h>

#include "core/file.hpp"
#include "worker/verify/inputs.hpp"

namespace fatune {
namespace {

constexpr std::int64_t kNeighboursShare = 4;  // of the L2 cache, see gates/carry_over.cpp
constexpr int kExtraSeeds = 4;                // more inputs for results near a limit
constexpr std::uint64_t kExtraSeedStep = 1000;

/// The first output whose limits an output of zeros would nearly meet. A reference of zeros alone
/// (every row masked) is right to demand zeros.
const TensorReference* find_vacuous(const std::vector<TensorReference>& outputs) {
  const auto found =
      std::find_if(outputs.begin(), outputs.end(), [](const TensorReference& output) {
        return output.largest != 0 && vacuity_margin(output) < kLeastVacuity;
      });
  return found == outputs.end() ? nullptr : &*found;
}

}  // namespace

Result<std::unique_ptr<ProblemLayer>> ProblemLayer::make(DeviceSession& session,
                                                         const BeginOrder& order,
                                                         const std::vector<TensorPlan>& plans,
                                                         DeviceChecks& checks) {
  const CUstream stream = session.stream.raw();
  std::unique_ptr<ProblemLayer> made(new ProblemLayer(stream, plans, checks));
  FATUNE_TRY(made->layer_,
             Layer::make(session.context, stream, in_given_types(order.problem.as_attention()),
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

Result<std::unique_ptr<DeviceProblem>> DeviceProblem::begin(DeviceSession& session,
                                                            const BeginOrder& order) {
  std::unique_ptr<DeviceProblem> problem(new DeviceProblem(session, order));
  FATUNE_TRY(const std::string checks, read_file(order.checks_cubin));
  FATUNE_TRY(problem->checks_, DeviceChecks::load(session.context, checks, session.stream.raw()));
  FATUNE_TRY(problem->neighbours_memory_,
             gpu::make_buffer(session.context,
                              static_cast<std::size_t>(session.facts.l2_bytes / kNeighboursShare)));
  FATUNE_TRY_STATUS(gpu::fill_bytes(problem->neighbours_memory_.address(), 0,
                                    problem->neighbours_memory_.bytes(), session.stream.raw()));
  if (problem->plan_.all_from_files()) problem->order_.cases.resize(1);
  FATUNE_TRY_STATUS(problem->make_outputs());
  FATUNE_TRY_STATUS(problem->make_sets());
  return problem;
}

DeviceProblem::DeviceProblem(DeviceSession& session, const BeginOrder& order)
    : session_(&session),
      order_(order),
      plan_(plan_of(order.problem, order.custom)),
      input_plans_(plan_.inputs()),
      output_plans_(plan_.outputs()),
      output_buffers_(buffers_of(output_plans_)),
      references_(ReferenceMaker::of(session, order_, plan_)) {}

Status DeviceProblem::make_outputs() {
  for (const BufferPlan& plan : output_buffers_) {
    FATUNE_CHECK(plan.tensors.size() == 1, "no two outputs share memory");
    FATUNE_TRY(GuardedBuffer buffer, GuardedBuffer::make(session_->context, plan.name, plan.bytes,
                                                         kGuardByte, session_->stream.raw()));
    outputs_.push_back(std::move(buffer));
    for (std::vector<gpu::HostBuffer>& hosts : host_) {
      FATUNE_TRY(gpu::HostBuffer host, gpu::make_host_buffer(session_->context, plan.bytes));
      hosts.push_back(std::move(host));
    }
  }
  for (auto& outputs : in_order_) outputs.resize(output_plans_.size());
  return {};
}

Status DeviceProblem::fetch(std::size_t which, std::size_t output) {
  const gpu::HostBuffer& host = host_[which][output];
  FATUNE_TRY_STATUS(gpu::copy_to_host({host.data(), host.bytes()}, outputs_[output].address(),
                                      session_->stream.raw()));
  const TensorPlan& tensor = output_plans_[output];
  if (tensor.strides.empty()) return {};
  std::vector<std::byte>& elements = in_order_[which][output];
  elements.resize(tensor.bytes());
  gather_rows(tensor, host_memory(which, output), elements);
  return {};
}

std::span<const std::byte> DeviceProblem::host_output(std::size_t which, std::size_t output) const {
  if (output_plans_[output].strides.empty()) return host_memory(which, output);
  return in_order_[which][output];
}

std::span<const std::byte> DeviceProblem::host_memory(std::size_t which, std::size_t output) const {
  const gpu::HostBuffer& host = host_[which][output];
  return {host.data(), host.bytes()};
}

TensorAddresses DeviceProblem::addresses(const InputSet& set) const {
  return addresses_of(plan_, pointers_to({set.inputs, outputs_}));
}

Status DeviceProblem::fill_read_outputs(const InputSet& set) const {
  if (!fills_outputs()) return {};
  return fatune::fill_read_outputs(plan_, addresses(set), session_->stream.raw());
}

std::chrono::microseconds DeviceProblem::kernel_limit() const {
  const double wanted = std::max(2e6, 50 * reference_time_.value);
  return std::chrono::microseconds(
      static_cast<std::int64_t>(std::min(wanted, 1e6 * order_.kernel_deadline_s)));
}

std::vector<HostTensor> DeviceProblem::finite_inputs(const InputCase& which, int doublings) const {
  return input_tensors(order_.problem, plan_, before_spoiling(which), doublings);
}

/// Makes the inputs of the next set on the host while the device works on this one.
Status DeviceProblem::make_sets() {
  std::future<std::vector<HostTensor>> next;
  for (std::size_t i = 0; i < order_.cases.size(); ++i) {
    const InputCase& which = order_.cases[i];
    std::vector<HostTensor> inputs = next.valid() ? next.get() : finite_inputs(which, 0);
    if (i + 1 < order_.cases.size()) {
      next = std::async(std::launch::async, &DeviceProblem::finite_inputs, this,
                        std::cref(order_.cases[i + 1]), 0);
    }
    auto set = make_set(which, std::move(inputs));
    if (!set)
      return with_context(std::move(set).error(), fmt::format("making the reference for {} inputs",
                                                              name(which.distribution)));
    sets_.push_back(*std::move(set));
  }
  return {};
}

Result<InputSet> DeviceProblem::make_set(const InputCase& which, std::vector<HostTensor> inputs) {
  for (int doublings = 0;; inputs = finite_inputs(which, ++doublings)) {
    const InputCase finite = before_spoiling(which);
    InputSet set;
    set.which = which;
    set.v_doublings = doublings;
    FATUNE_TRY(set.inputs,
               upload_inputs(session_->context, session_->stream.raw(), input_plans_, inputs));
    FATUNE_TRY(static_cast<References&>(set),
               references_->make(finite, doublings, addresses(set), std::move(inputs)));
    if (which != finite) FATUNE_TRY_STATUS(spoil(set));
    FATUNE_TRY(set.checksums, checks_.checksums(pointers_to({set.inputs})));
    reference_time_ = set.time;
    const TensorReference* vacuous = find_vacuous(set.outputs);
    if (vacuous == nullptr) return set;
    if (doublings == references_->most_doublings()) return references_->vacuous(*vacuous);
  }
}

Status DeviceProblem::spoil(InputSet& set) {
  FATUNE_TRY_STATUS(write_inputs(set));
  const LostOutputs lost(order_.problem.as_attention());
  set.outputs.front().lost = lost;
  if (order_.problem.is(&Attention::lse)) leave_out(set.lse, lost);
  return {};
}

Status DeviceProblem::write_inputs(const InputSet& set) {
  const std::vector<HostTensor> tensors =
      input_tensors(order_.problem, plan_, set.which, set.v_doublings);
  const std::vector<BufferPlan> plans = buffers_of(input_plans_);
  std::vector<std::byte> room;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const auto memory = memory_of(plans[i], input_plans_, tensors, room);
    FATUNE_TRY_STATUS(gpu::copy_to_device(set.inputs[i].address(), memory, session_->stream.raw()));
  }
  return {};
}

Result<std::span<InputSet>> DeviceProblem::extra_sets(const PhaseNote& note) {
  if (plan_.all_from_files()) return std::span<InputSet>();
  for (auto i = static_cast<std::uint64_t>(extra_sets_.size()); i < kExtraSeeds; ++i) {
    note("verifying with more seeds");
    const InputCase& first = order_.cases.front();
    const InputCase which{first.distribution, first.seed + kExtraSeedStep * (i + 1)};
    FATUNE_TRY(InputSet set, make_set(which, finite_inputs(which, 0)));
    extra_sets_.push_back(std::move(set));
  }
  return std::span<InputSet>(extra_sets_);
}

Status DeviceProblem::restore() {
  FATUNE_TRY_STATUS(gpu::forbid_persisting_lines(session_->stream.raw()));
  return mend();
}

Status DeviceProblem::mend() {
  const CUstream stream = session_->stream.raw();
  for (const GuardedBuffer& output : outputs_) FATUNE_TRY_STATUS(output.fill_bands(stream));
  for (std::vector<InputSet>* group : {&sets_, &extra_sets_}) {
    for (InputSet& set : *group) {
      FATUNE_TRY(const auto sums, checks_.checksums(pointers_to({set.inputs})));
      if (sums != set.checksums) FATUNE_TRY_STATUS(write_inputs(set));
      for (const GuardedBuffer& buffer : set.inputs) FATUNE_TRY_STATUS(buffer.fill_bands(stream));
    }
  }
  if (layer_ && *layer_) FATUNE_TRY_STATUS((**layer_)->mend());
  return gpu::synchronize(stream);
}

Result<ProblemLayer*> DeviceProblem::problem_layer() {
  if (!layer_) layer_ = ProblemLayer::make(*session_, order_, input_plans_, checks_);
  if (!*layer_) return Error(layer_->error());
  return (**layer_).get();
}

Result<Layer*> DeviceProblem::layer() {
  FATUNE_TRY(ProblemLayer* const found, problem_layer());
  return &found->layer();
}

Result<InputSet*> DeviceProblem::layer_set(bool judged) {
  FATUNE_TRY(ProblemLayer* const found, problem_layer());
  InputSet& set = found->inputs();
  if (judged && set.outputs.empty()) {
    FATUNE_TRY(static_cast<References&>(set),
               references_->make(set.which, 0, addresses(set), found->tensors()));
  }
  return &set;
}

}  // namespace fatune
