// references.cpp: Runs the reference and the low-precision reference, and derives the limits.
#include "worker/device/references.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "model/kernel/operation.hpp"
#include "model/problem/rule_keys.hpp"
#include "worker/device/loaded_program.hpp"
#include "worker/verify/quantize.hpp"

namespace fatune {
namespace {

/// Returns where a head, counted over the batch, begins among the elements of an optional tensor.
std::int64_t optional_at(const Attention& problem, const TensorPlan& tensor, std::int64_t head,
                         std::int64_t first_row) {
  const std::int64_t batch = head / problem.heads, of_batch = head % problem.heads;
  if (tensor.name == "lengths") return problem.mask.lengths.repeats() ? batch : 0;
  if (is_named_tensor(tensor.name)) return 0;
  if (tensor.name != "bias") return of_batch;
  const auto& shape = tensor.shape;
  const std::int64_t of_bias = batch % shape[0] * shape[1] + of_batch % shape[1];
  return (of_bias * shape[2] + first_row % shape[2]) * shape[3];
}

Offsets slice_at(const Attention& problem, std::int64_t head, std::int64_t first_row) {
  const std::int64_t group = problem.heads / problem.kv_heads;
  const std::int64_t kv_head =
      head / problem.heads * problem.kv_heads + head % problem.heads / group;
  const std::int64_t row = head * problem.seq_q + first_row;
  const std::int64_t key_row = kv_head * problem.seq_kv, columns = problem.value_columns();
  Offsets offsets = {{"q", row * problem.head_dim}, {"k", key_row * problem.head_dim},
                     {"v", key_row * columns},      {"q_descale", kv_head},
                     {"k_descale", kv_head},        {"v_descale", kv_head},
                     {"out", row * columns},        {"lse", row}};
  for (const TensorPlan& tensor : optional_tensors(problem))
    offsets[tensor.name] = optional_at(problem, tensor, head, first_row);
  return offsets;
}

constexpr std::uint8_t kOtherByte = 0x5a;  // in outputs before a reference's second run
constexpr int kMostDoublings = 6;          // of v, see the tolerance rule "vacuity"

class AttentionReference final : public ReferenceMaker {
 public:
  using ReferenceMaker::ReferenceMaker;

  int most_doublings() const override { return kMostDoublings; }
  Error vacuous(const TensorReference&) const override {
    return device_error(
        fmt::format("limits that an output of zeros could meet, even with v times {}: the check "
                    "would prove nothing",
                    1 << kMostDoublings));
  }

 private:
  Problem slice() const override { return attention()->reference_problem(order_.problem); }

  std::vector<Offsets> slices() const override {
    if (names_heads(whole())) return {Offsets()};  // the slice is all of it
    return attention_slices(whole(), slice().as_attention().seq_q);
  }

  Result<References> take(Results results, const InputCase& which,
                          std::vector<HostTensor> inputs) const override {
    const Attention& problem = whole();
    const HostInputs host = host_inputs(std::move(inputs));
    std::vector<float> lse;
    if (problem.lse) lse = floats_of(results.outputs[1]);
    References made;
    made.outputs.push_back(make_out_reference(problem, floats_of(results.outputs[0])));
    FATUNE_TRY_STATUS(
        validate_reference(problem, host, {made.outputs.front().values, lse}, which.seed));
    if (problem.lse) made.lse = make_lse_reference(problem, host, std::move(lse));
    return made;
  }

  Limits limits(const TensorReference& output, const Comparison& low_precision,
                const InputCase& which) const override {
    return attention_limits(output, low_precision, which.distribution, whole());
  }
};

class DeclaredReference final : public ReferenceMaker {
 public:
  using ReferenceMaker::ReferenceMaker;

  int most_doublings() const override { return 0; }
  Error vacuous(const TensorReference& output) const override {
    return device_error(fmt::format(
        "the limits of {} are so wide that an output of zeros comes near to passing: the check "
        "would prove nothing; {}",
        output.tensor.name,
        output.tolerance
            ? "declare a smaller tolerance"
            : "its low-precision reference (ROUND_INTERMEDIATES=1) is too far from the reference"));
  }

 private:
  Problem slice() const override { return order_.problem; }
  std::vector<Offsets> slices() const override { return {Offsets()}; }

  Result<References> take(Results results, const InputCase&,
                          std::vector<HostTensor>) const override {
    const std::vector<TensorPlan> tensors = plan_.outputs();
    References made;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      made.outputs.push_back(make_declared_reference(tensors[i], std::move(results.outputs[i])));
      made.outputs.back().tolerance = plan_.tolerance;
      FATUNE_TRY_STATUS(check_written(made.outputs.back()));
    }
    return made;
  }

  Limits limits(const TensorReference& output, const Comparison& low_precision,
                const InputCase&) const override {
    return declared_limits(output, low_precision, order_.problem.dtype());
  }
};

}  // namespace

std::vector<Offsets> attention_slices(const Attention& problem, std::int64_t rows) {
  std::vector<Offsets> slices;
  for (std::int64_t head = 0; head < problem.batch * problem.heads; ++head) {
    for (std::int64_t row = 0; row < problem.seq_q; row += rows)
      slices.push_back(slice_at(problem, head, std::min(row, problem.seq_q - rows)));
  }
  return slices;
}

std::unique_ptr<ReferenceMaker> ReferenceMaker::of(DeviceSession& session, const BeginOrder& order,
                                                   const OperationPlan& plan) {
  if (order.problem.attention()) return std::make_unique<AttentionReference>(session, order, plan);
  return std::make_unique<DeclaredReference>(session, order, plan);
}

Result<References> ReferenceMaker::make(const InputCase& which, int v_doublings,
                                        TensorAddresses addresses, std::vector<HostTensor> inputs) {
  std::vector<gpu::Buffer> copies;
  const std::vector<TensorPlan> tensors = plan_.inputs();
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].strides.empty()) continue;
    FATUNE_TRY(gpu::Buffer copy, gpu::make_buffer(session_.context, tensors[i].bytes()));
    FATUNE_TRY_STATUS(gpu::copy_to_device(copy.address(), inputs[i].bytes, session_.stream.raw()));
    addresses[tensors[i].name] = copy.address();
    copies.push_back(std::move(copy));
  }
  FATUNE_TRY(Results results, run(order_.reference, plan_, slice(), addresses, true));
  FATUNE_TRY_STATUS(check_whole(results, addresses));
  const Micros time = results.time;
  const Problem& problem = order_.problem;
  const bool bounded = bounds_rounding(problem, which.distribution);
  HostInputs kept;
  if (bounded || problem.is(is_fused)) kept = host_inputs(inputs);
  FATUNE_TRY(References made, take(std::move(results), which, std::move(inputs)));
  made.time = time;
  if (!plan_.has_low_precision()) return made;
  if (problem.is(has_descales) && which.distribution == Distribution::kNormal) {
    FATUNE_TRY(made.outputs.front().unquantized, unquantized_values(which, v_doublings));
  }
  if (bounded) {
    FATUNE_TRY(const Results magnitudes, run_apart(order_.reference, whole(), slice(),
                                                   with_magnitudes_of_v(std::move(kept)), true));
    made.outputs.front().rounding = rounding_of(whole(), floats_of(magnitudes.outputs.front()));
  }
  FATUNE_TRY(const Results low_precision,
             problem.is(is_fused) ? low_precision_of_quantized(kept)
                                  : run(order_.low_precision, plan_, slice(), addresses, false));
  if (problem.is(is_fused) && problem.is(&Attention::lse))
    allow_quantizing(made.lse, low_precision.outputs[1]);
  for (std::size_t i = 0; i < made.outputs.size(); ++i) {
    TensorReference& output = made.outputs[i];
    if (!output.exact.empty()) continue;
    const Comparison comparison = compare(output, low_precision.outputs[i]);
    output.limits = limits(output, comparison, which);
    const Judgement verdict = judge(output, comparison);
    if (verdict.passed) continue;
    return device_error("the low-precision reference breaks its own limits: " + verdict.reason);
  }
  return made;
}

Status ReferenceMaker::check_whole(const Results& first, const TensorAddresses& addresses) {
  const std::vector<TensorPlan> outputs = plan_.outputs();
  if (std::ranges::none_of(outputs, &TensorPlan::whole)) return {};
  FATUNE_TRY(const Results second,
             run(order_.reference, plan_, slice(), addresses, true, kOtherByte));
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::vector<std::byte>&a = first.outputs[i], &b = second.outputs[i];
    if (!outputs[i].whole() || a == b) continue;
    const auto at = std::ranges::mismatch(a, b).in1 - a.begin();
    return device_error(fmt::format(
        "the reference leaves {} unwritten, or its runs differ there",
        describe_place(outputs[i], at / static_cast<std::int64_t>(outputs[i].width()))));
  }
  return {};
}

Result<std::vector<float>> ReferenceMaker::unquantized_values(const InputCase& which,
                                                              int v_doublings) {
  FATUNE_TRY(
      const Results results,
      run_apart(*order_.unquantized, unquantized(whole()), unquantized(slice().as_attention()),
                unquantized_inputs(whole(), which, v_doublings), true));
  return floats_of(results.outputs.front());
}

/// Runs the low-precision reference of a fused problem on inputs that the host quantized.
Result<ReferenceMaker::Results> ReferenceMaker::low_precision_of_quantized(
    const HostInputs& unquantized) {
  const Attention& problem = whole();
  FATUNE_TRY(Results low_precision, run_apart(order_.low_precision, with_given_factors(problem),
                                              with_given_factors(slice().as_attention()),
                                              quantize(problem, unquantized), false));
  if (problem.lse && smooths_k(problem))
    add_mean_scores(problem, unquantized, low_precision.outputs[1]);
  return low_precision;
}

/// Runs a program over contiguous inputs of another type than the problem's.
Result<ReferenceMaker::Results> ReferenceMaker::run_apart(const Program& program, Attention problem,
                                                          const Problem& slice, HostInputs inputs,
                                                          bool singles) {
  problem.layouts = {};
  const OperationPlan plan = attention_plan(problem);
  const std::vector<HostTensor> tensors = host_tensors(std::move(inputs));
  FATUNE_TRY(const std::vector<GuardedBuffer> buffers,
             upload_inputs(session_.context, session_.stream.raw(), plan.inputs(), tensors));
  TensorAddresses addresses;
  for (std::size_t i = 0; i < tensors.size(); ++i)
    addresses[tensors[i].name] = buffers[i].address();
  return run(program, plan, slice, addresses, singles);
}

/// With `singles` the program writes outputs of a Dtype in fp32. Outputs are filled with `before`.
Result<ReferenceMaker::Results> ReferenceMaker::run(const Program& program,
                                                    const OperationPlan& plan, const Problem& slice,
                                                    TensorAddresses addresses, bool singles,
                                                    std::uint8_t before) {
  const CUstream stream = session_.stream.raw();
  FATUNE_TRY(LoadedProgram loaded, LoadedProgram::load(session_.context, stream, program, slice));
  Results results;
  std::vector<Erased> memory;
  std::map<std::string, std::size_t> widths;
  for (const TensorPlan& tensor : plan.tensors) {
    const bool single = tensor.output && singles && tensor.type;
    widths[tensor.name] = single ? sizeof(float) : tensor.width();
    if (!tensor.output) continue;
    const std::size_t bytes = static_cast<std::size_t>(tensor.elements()) * widths.at(tensor.name);
    FATUNE_TRY(Erased buffer, Erased::make(session_.context, bytes, stream));
    FATUNE_TRY_STATUS(gpu::fill_bytes(buffer.address(), before, bytes, stream));
    addresses[tensor.name] = buffer.address();
    memory.push_back(std::move(buffer));
    results.outputs.emplace_back(bytes);
  }
  FATUNE_TRY_STATUS(fill_read_outputs(plan, addresses, stream));
  const auto queue_all = [&]() -> Status {
    for (const Offsets& offsets : slices()) {
      TensorAddresses bound = addresses;
      for (const auto& [name, elements] : offsets) {
        const auto tensor = bound.find(name);
        if (tensor == bound.end()) continue;
        tensor->second += static_cast<std::size_t>(elements) * widths.at(name);
      }
      FATUNE_TRY_STATUS(loaded.bind(bound));
      FATUNE_TRY_STATUS(loaded.queue());
    }
    return {};
  };
  session_.sampler->set_limit(std::chrono::minutes(2));
  FATUNE_TRY(const MaybeTime time, session_.sampler->time_once(queue_all));
  if (!time) return device_error("the reference kernel did not finish within two minutes");
  results.time = *time;
  // Clear the scratch, so that candidates cannot read the reference's intermediates.
  FATUNE_TRY_STATUS(fill_insides(loaded.scratch(), kNanByte, stream));
  for (std::size_t i = 0; i < memory.size(); ++i)
    FATUNE_TRY_STATUS(gpu::copy_to_host(results.outputs[i], memory[i].address(), stream));
  return results;
}

}  // namespace fatune
