// device_problem.cpp - inputs to the device, their references to the host.
#include "worker/device/device_problem.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/file.hpp"
#include "gpu/objects.hpp"

namespace fatune {
namespace {

constexpr int kExtraSeeds = 4;  // more inputs for results near a limit
constexpr std::uint64_t kExtraSeedStep = 1000;

std::vector<const GuardedBuffer*> pointers_to(const std::vector<GuardedBuffer>& buffers) {
  std::vector<const GuardedBuffer*> pointers;
  for (const GuardedBuffer& buffer : buffers) pointers.push_back(&buffer);
  return pointers;
}

/// The first output whose limits zeros come near to. A reference of nothing but zeros (every row
/// masked) is right to demand zeros.
const TensorReference* find_vacuous(const std::vector<TensorReference>& outputs) {
  const auto found =
      std::find_if(outputs.begin(), outputs.end(), [](const TensorReference& output) {
        return output.largest != 0 && vacuity_margin(output) < kLeastVacuity;
      });
  return found == outputs.end() ? nullptr : &*found;
}

}  // namespace

Result<std::unique_ptr<DeviceProblem>> DeviceProblem::begin(DeviceSession& session,
                                                            const BeginOrder& order) {
  std::unique_ptr<DeviceProblem> problem(new DeviceProblem(session, order));
  FATUNE_TRY(const std::string checks, read_file(order.checks_cubin));
  FATUNE_TRY(problem->checks_, DeviceChecks::load(session.context, checks, session.stream.raw()));
  FATUNE_TRY_STATUS(problem->make_outputs());
  for (const InputCase& which : order.cases) {
    auto set = problem->make_set(which);
    if (!set)
      return with_context(std::move(set).error(), fmt::format("making the reference for {} inputs",
                                                              name(which.distribution)));
    problem->sets_.push_back(*std::move(set));
  }
  return problem;
}

DeviceProblem::DeviceProblem(DeviceSession& session, const BeginOrder& order)
    : session_(&session),
      order_(order),
      plan_(plan_of(order.problem, order.custom)),
      output_plans_(plan_.outputs()),
      references_(ReferenceMaker::of(session, order_, plan_)) {}

Status DeviceProblem::make_outputs() {
  for (const TensorPlan& tensor : output_plans_) {
    FATUNE_TRY(GuardedBuffer buffer,
               GuardedBuffer::make(session_->context, tensor.name, tensor.bytes(), kGuardByte,
                                   session_->stream.raw()));
    outputs_.push_back(std::move(buffer));
    for (std::vector<gpu::HostBuffer>& hosts : host_) {
      FATUNE_TRY(gpu::HostBuffer host, gpu::make_host_buffer(session_->context, tensor.bytes()));
      hosts.push_back(std::move(host));
    }
  }
  return {};
}

std::span<std::byte> DeviceProblem::host_output(std::size_t which, std::size_t output) const {
  const gpu::HostBuffer& host = host_[which][output];
  return {host.data(), host.bytes()};
}

TensorAddresses DeviceProblem::addresses(const InputSet& set) const {
  std::map<std::string, CUdeviceptr> by_name;
  for (const GuardedBuffer& each : set.inputs) by_name[each.name()] = each.address();
  for (const GuardedBuffer& each : outputs_) by_name[each.name()] = each.address();
  return tensors_at(std::move(by_name));
}

std::chrono::microseconds DeviceProblem::kernel_limit() const {
  const double wanted = std::max(2e6, 50 * reference_time_.value);
  return std::chrono::microseconds(
      static_cast<std::int64_t>(std::min(wanted, 1e6 * order_.kernel_deadline_s)));
}

Result<InputSet> DeviceProblem::upload(const InputCase& which, int v_doublings,
                                       const std::vector<HostTensor>& tensors) {
  InputSet set;
  set.which = which;
  set.v_doublings = v_doublings;
  const CUstream stream = session_->stream.raw();
  for (const HostTensor& tensor : tensors) {
    FATUNE_TRY(GuardedBuffer buffer, GuardedBuffer::make(session_->context, tensor.name,
                                                         tensor.bytes.size(), kNanByte, stream));
    FATUNE_TRY_STATUS(gpu::copy_to_device(buffer.address(), tensor.bytes, stream));
    set.inputs.push_back(std::move(buffer));
  }
  FATUNE_TRY(set.checksums, checks_.checksums(pointers_to(set.inputs)));
  return set;
}

Result<InputSet> DeviceProblem::make_set(const InputCase& which) {
  for (int doublings = 0;; ++doublings) {
    std::vector<HostTensor> inputs = input_tensors(order_.problem, plan_, which, doublings);
    FATUNE_TRY(InputSet set, upload(which, doublings, inputs));
    FATUNE_TRY(References made,
               references_->make(which, addresses(set).by_name, std::move(inputs)));
    reference_time_ = made.time;
    set.outputs = std::move(made.outputs);
    set.lse = std::move(made.lse);
    const TensorReference* vacuous = find_vacuous(set.outputs);
    if (vacuous == nullptr) return set;
    if (doublings == references_->most_doublings()) return references_->vacuous(*vacuous);
  }
}

Result<std::span<InputSet>> DeviceProblem::extra_sets() {
  for (auto i = static_cast<std::uint64_t>(extra_sets_.size()); i < kExtraSeeds; ++i) {
    const InputCase& first = order_.cases.front();
    FATUNE_TRY(InputSet set, make_set({first.distribution, first.seed + kExtraSeedStep * (i + 1)}));
    extra_sets_.push_back(std::move(set));
  }
  return std::span<InputSet>(extra_sets_);
}

Status DeviceProblem::restore() {
  const CUstream stream = session_->stream.raw();
  FATUNE_TRY_STATUS(gpu::forbid_persisting_lines(stream));
  for (const GuardedBuffer& output : outputs_) FATUNE_TRY_STATUS(output.fill_bands(stream));
  for (std::vector<InputSet>* group : {&sets_, &extra_sets_}) {
    for (InputSet& set : *group) {
      FATUNE_TRY(const auto sums, checks_.checksums(pointers_to(set.inputs)));
      if (sums != set.checksums) {
        const std::vector<HostTensor> tensors =
            input_tensors(order_.problem, plan_, set.which, set.v_doublings);
        for (std::size_t i = 0; i < tensors.size(); ++i) {
          const CUdeviceptr to = set.inputs[i].address();
          FATUNE_TRY_STATUS(gpu::copy_to_device(to, tensors[i].bytes, stream));
        }
      }
      for (const GuardedBuffer& buffer : set.inputs) FATUNE_TRY_STATUS(buffer.fill_bands(stream));
    }
  }
  return gpu::synchronize(stream);
}

}  // namespace fatune
