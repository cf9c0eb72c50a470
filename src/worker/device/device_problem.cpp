// device_problem.cpp - inputs to the device, references back to the host, one head at a time.
#include "worker/device/device_problem.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "core/file.hpp"
#include "model/problem/work.hpp"
#include "worker/device/erased.hpp"
#include "worker/device/own_reference.hpp"
#include "worker/verify/host_reference.hpp"

namespace fatune {
namespace {

constexpr int kExtraSeeds = 4;     // more inputs for results near a limit
constexpr int kMostDoublings = 6;  // of v, see the tolerance rule "vacuity"
constexpr std::uint64_t kExtraSeedStep = 1000;

std::vector<float> floats_of(const std::vector<std::byte>& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

std::vector<const GuardedBuffer*> pointers_to(const std::vector<GuardedBuffer>& buffers) {
  std::vector<const GuardedBuffer*> pointers;
  for (const GuardedBuffer& buffer : buffers) pointers.push_back(&buffer);
  return pointers;
}

std::vector<HostTensor> tensors_of(HostInputs inputs) {
  return {{"q", std::move(inputs.q)}, {"k", std::move(inputs.k)}, {"v", std::move(inputs.v)}};
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
      return with_context(
          std::move(set).error(),
          "making the reference for " + std::string(name(which.distribution)) + " inputs");
    problem->sets_.push_back(*std::move(set));
  }
  return problem;
}

Status DeviceProblem::make_outputs() {
  if (order_.own) {
    for (const TensorPlan& tensor : order_.own->outputs())
      FATUNE_TRY_STATUS(make_output(tensor.name, Bytes(tensor.bytes())));
    return {};
  }
  FATUNE_TRY_STATUS(make_output("out", query_bytes(order_.problem)));
  if (!order_.problem.lse) return {};
  return make_output("lse", lse_bytes(order_.problem));
}

Status DeviceProblem::make_output(std::string name, Bytes size) {
  const auto bytes = static_cast<std::size_t>(size.value);
  FATUNE_TRY(GuardedBuffer buffer, GuardedBuffer::make(session_->context, std::move(name), bytes,
                                                       kGuardByte, session_->stream.raw()));
  outputs_.push_back(std::move(buffer));
  for (std::vector<gpu::HostBuffer>& hosts : host_) {
    FATUNE_TRY(gpu::HostBuffer host, gpu::make_host_buffer(session_->context, bytes));
    hosts.push_back(std::move(host));
  }
  return {};
}

std::span<std::byte> DeviceProblem::host_output(std::size_t which, std::size_t output) const {
  const gpu::HostBuffer& host = host_[which][output];
  return {host.data(), host.bytes()};
}

TensorAddresses DeviceProblem::addresses(const InputSet& set) const {
  TensorAddresses addresses;
  if (order_.own) {
    for (const GuardedBuffer& each : set.inputs) addresses.own[each.name()] = each.address();
    for (const GuardedBuffer& each : outputs_) addresses.own[each.name()] = each.address();
    return addresses;
  }
  addresses.q = set.inputs[0].address();
  addresses.k = set.inputs[1].address();
  addresses.v = set.inputs[2].address();
  addresses.out = outputs_.front().address();
  if (order_.problem.lse) addresses.lse = outputs_.back().address();
  return addresses;
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

/// The same bytes that the set was made of.
std::vector<HostTensor> DeviceProblem::host_tensors(const InputSet& set) const {
  if (!order_.own) return tensors_of(make_inputs(order_.problem, set.which, set.v_doublings));
  return own_inputs(*order_.own, set.which);
}

/// Inputs, reference and limits as declared; limits that zeros meet cannot be helped here.
Result<InputSet> DeviceProblem::make_own_set(const InputCase& which) {
  FATUNE_TRY(InputSet set, upload(which, 0, own_inputs(*order_.own, which)));
  FATUNE_TRY(OwnReferences references, refer_own(*session_, order_, addresses(set).own));
  set.own = std::move(references.outputs);
  reference_time_ = references.time;
  return set;
}

Result<InputSet> DeviceProblem::make_set(const InputCase& which) {
  if (order_.own) return make_own_set(which);
  for (int doublings = 0;; ++doublings) {
    const HostInputs inputs = make_inputs(order_.problem, which, doublings);
    FATUNE_TRY(InputSet set, upload(which, doublings, tensors_of(inputs)));
    FATUNE_TRY_STATUS(refer(set, inputs));
    // A reference of nothing but zeros (every row masked) is right to demand zeros.
    const bool telling =
        set.reference.largest == 0 || vacuity_margin(set.reference, set.limits) >= kLeastVacuity;
    if (telling) return set;
    if (doublings == kMostDoublings) {
      return device_error("limits that an output of zeros could meet, even with v times " +
                          std::to_string(1 << doublings) + ": the check would prove nothing");
    }
  }
}

/// Reference and twin of a set, the reference checked in fp64, and the limits that follow.
Status DeviceProblem::refer(InputSet& set, const HostInputs& inputs) {
  FATUNE_TRY(auto reference, run_by_head(order_.reference, set, sizeof(float)));
  set.reference = make_reference_output(order_.problem, floats_of(reference.out));
  FATUNE_TRY_STATUS(validate_reference(order_.problem, inputs,
                                       {set.reference.values, reference.lse}, set.which.seed));
  if (order_.problem.lse)
    set.lse = make_lse_reference(order_.problem, inputs, std::move(reference.lse));
  const auto width = static_cast<std::size_t>(size_of(order_.problem.dtype));
  FATUNE_TRY(const auto twin, run_by_head(order_.twin, set, width));
  const Comparison comparison = compare(set.reference, twin.out);
  set.limits = make_limits(set.reference, comparison, set.which.distribution);
  const Judgement verdict = judge(order_.problem, comparison, set.limits);
  if (verdict.passed) return {};
  return device_error("the low-precision twin of the reference breaks its own limits: " +
                      verdict.reason);
}

Result<DeviceProblem::HeadResults> DeviceProblem::run_by_head(const Program& program,
                                                              const InputSet& set,
                                                              std::size_t element_bytes) {
  const Problem& whole = order_.problem;
  Problem slice = whole;
  slice.batch = slice.heads = slice.kv_heads = 1;
  const CUstream stream = session_->stream.raw();
  FATUNE_TRY(LoadedProgram loaded, LoadedProgram::load(session_->context, stream, program, slice));
  const auto query_elements = static_cast<std::size_t>(slice.query_elements());
  const auto key_elements = static_cast<std::size_t>(slice.key_elements());
  const auto width = static_cast<std::size_t>(size_of(whole.dtype));
  const auto heads = static_cast<std::size_t>(whole.batch * whole.heads);
  HeadResults results;
  results.out.resize(heads * query_elements * element_bytes);
  results.lse.resize(lse_bytes(whole).value / sizeof(float));
  FATUNE_TRY(gpu::Buffer out_memory,
             poisoned_buffer(session_->context, results.out.size(), stream));
  const Erased out(std::move(out_memory), stream);
  FATUNE_TRY(gpu::Buffer lse_memory,
             poisoned_buffer(session_->context, results.lse.size() * sizeof(float), stream));
  const Erased lse(std::move(lse_memory), stream);

  const auto queue_all = [&]() -> Status {
    const std::int64_t group = whole.heads / whole.kv_heads;
    for (std::size_t head = 0; head < heads; ++head) {
      const auto batch = static_cast<std::int64_t>(head) / whole.heads;
      const auto kv_head = static_cast<std::size_t>(
          batch * whole.kv_heads + static_cast<std::int64_t>(head) % whole.heads / group);
      const std::size_t lse_offset =
          whole.lse ? head * static_cast<std::size_t>(slice.rows()) * sizeof(float) : 0;
      FATUNE_TRY_STATUS(loaded.bind({set.inputs[0].address() + head * query_elements * width,
                                     set.inputs[1].address() + kv_head * key_elements * width,
                                     set.inputs[2].address() + kv_head * key_elements * width,
                                     (*out).address() + head * query_elements * element_bytes,
                                     (*lse).address() + lse_offset,
                                     {}}));
      FATUNE_TRY_STATUS(loaded.queue());
    }
    return {};
  };
  session_->sampler->set_limit(std::chrono::minutes(2));
  FATUNE_TRY(const MaybeTime time, session_->sampler->time_once(queue_all));
  if (!time) return device_error("the reference kernel did not finish within two minutes");
  reference_time_ = *time;
  // Clear the scratch, so that candidates cannot read the reference's intermediates.
  FATUNE_TRY_STATUS(fill_insides(loaded.scratch(), kNanByte, stream));
  FATUNE_TRY_STATUS(gpu::copy_to_host(results.out, (*out).address(), stream));
  FATUNE_TRY_STATUS(
      gpu::copy_to_host(std::as_writable_bytes(std::span(results.lse)), (*lse).address(), stream));
  return results;
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
        const std::vector<HostTensor> tensors = host_tensors(set);
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
