// judge.cpp: Lays out memory as the device worker does, and applies the rules of worker/verify.
#include "ptx/judge.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "worker/gates/findings.hpp"
#include "worker/verify/quantize.hpp"

namespace fatune::ptx {
namespace {

/// Outputs are NaN until they are written, and so is what lies between rows.
constexpr std::uint8_t kUnwritten = 0xff;
constexpr int kMostDoublings = 6;  // of v, as in worker/device/references.cpp

void place(const std::vector<TensorPlan>& plans, const BufferPlan& buffer,
           std::vector<std::byte> bytes, Tensors& tensors) {
  tensors.buffers[buffer.name] = std::move(bytes);
  for (const std::size_t i : buffer.tensors)
    tensors.places[plans[i].name] = {buffer.name,
                                     static_cast<std::size_t>(plans[i].first) * plans[i].width()};
}

Tensors tensors_of(const Attention& problem, const HostInputs& inputs) {
  const OperationPlan plan = attention_plan(problem);
  const std::vector<HostTensor> elements = host_tensors(inputs);
  Tensors tensors;
  std::vector<std::byte> room;
  const std::vector<TensorPlan> ins = plan.inputs(), outs = plan.outputs();
  for (const BufferPlan& buffer : buffers_of(ins)) {
    const auto bytes = memory_of(buffer, ins, elements, room);
    place(ins, buffer, {bytes.begin(), bytes.end()}, tensors);
  }
  for (const BufferPlan& buffer : buffers_of(outs))
    place(outs, buffer, std::vector<std::byte>(buffer.bytes, std::byte{kUnwritten}), tensors);
  return tensors;
}

/// The elements of an output, in order.
std::vector<std::byte> elements_of(const TensorPlan& tensor, const Tensors& tensors) {
  const std::vector<std::byte>& memory = tensors.buffers.at(tensor.name);
  if (tensor.strides.empty()) return memory;
  std::vector<std::byte> elements(tensor.bytes());
  gather_rows(tensor, memory, elements);
  return elements;
}

struct HostResult {
  std::vector<float> out, lse;
};
HostResult attention(const Attention& problem, const HostInputs& inputs) {
  HostResult result;
  for (std::int64_t row = 0; row < problem.rows(); ++row) {
    const std::int64_t head = row / problem.seq_q;
    const OutputRow where{head / problem.heads, head % problem.heads, row % problem.seq_q};
    const HostRow values = attention_row(problem, inputs, where);
    result.out.insert(result.out.end(), values.values.begin(), values.values.end());
    result.lse.push_back(static_cast<float>(values.lse));
  }
  return result;
}

/// Returns the low-precision reference's outputs. It takes no layouts, and quantized inputs.
Result<Tensors> low_precision_of(const Setting& setting, const KernelRef& naive,
                                 const Attention& problem, const HostInputs& inputs) {
  Attention plain = with_given_factors(problem);
  plain.layouts = {};
  Tensors tensors = tensors_of(plain, is_fused(problem) ? quantize(problem, inputs) : inputs);
  const Candidate low_precision{naive, default_config(naive->manifest), plain};
  FATUNE_TRY_STATUS(
      interpret(setting, low_precision, {"ROUND_INTERMEDIATES=1"}, Asynchrony::kLate, tensors));
  if (problem.lse && smooths_k(problem))
    add_mean_scores(problem, inputs, tensors.buffers.at("lse"));
  return tensors;
}

void spoil(const InputCase& which, int doublings, Expected& expected) {
  const LostOutputs lost(expected.problem);
  expected.inputs = make_inputs(expected.problem, which, doublings);
  expected.out.lost = lost;
  if (expected.lse) leave_out(*expected.lse, lost);
}

Examined refused(const std::string& reason) {
  return {false, reason, kWorstMargin, 0, "", 0, 0, 0};
}

}  // namespace

Result<Expected> expect(const Setting& setting, const KernelRef& naive, const Attention& problem,
                        const InputCase& wanted) {
  const InputCase which = before_spoiling(wanted);
  for (int doublings = 0;; ++doublings) {
    Expected expected{problem, make_inputs(problem, which, doublings), {}, std::nullopt};
    HostResult right = attention(problem, expected.inputs);
    expected.out = make_out_reference(problem, std::move(right.out));
    if (has_descales(problem)) {
      expected.out.unquantized =
          attention(unquantized(problem), unquantized_inputs(problem, which, doublings)).out;
    }
    if (bounds_rounding(problem, which.distribution)) {
      expected.out.rounding =
          rounding_of(problem, attention(problem, with_magnitudes_of_v(expected.inputs)).out);
    }
    if (problem.lse)
      expected.lse = make_lse_reference(problem, expected.inputs, std::move(right.lse));
    FATUNE_TRY(const Tensors rounded, low_precision_of(setting, naive, problem, expected.inputs));
    if (expected.lse && is_fused(problem))
      allow_quantizing(*expected.lse, rounded.buffers.at("lse"));
    const Comparison low_precision = compare(expected.out, rounded.buffers.at("out"));
    expected.out.limits =
        attention_limits(expected.out, low_precision, which.distribution, problem);
    const Judgement verdict = judge(expected.out, low_precision);
    if (!verdict.passed)
      return device_error("the low-precision reference breaks its own limits: " + verdict.reason);
    const bool vacuous = expected.out.largest != 0 && vacuity_margin(expected.out) < kLeastVacuity;
    if (!vacuous) {
      if (wanted != which) spoil(wanted, doublings, expected);
      return expected;
    }
    if (doublings == kMostDoublings)
      return device_error("limits that an output of zeros could meet: the check proves nothing");
  }
}

Examined examine(const Setting& setting, const Expected& expected, const Candidate& candidate,
                 Asynchrony asynchrony) {
  Tensors tensors = tensors_of(expected.problem, expected.inputs);
  const Tensors before = tensors;
  const Status run = interpret(setting, candidate, {}, asynchrony, tensors);
  if (!run) return refused(run.error().message);
  const TensorPlan& out = expected.out.tensor;
  for (const auto& [name, bytes] : before.buffers) {
    const bool output = name == out.name || name == "lse";
    if (!output && bytes != tensors.buffers.at(name))
      return refused("inputs were changed: " + name);
  }
  const auto gaps = gap_finding(out, {tensors.buffers.at(out.name), kUnwritten});
  if (gaps) return refused(describe(*gaps));
  const Comparison comparison = compare(expected.out, elements_of(out, tensors));
  const Judgement verdict = judge(expected.out, comparison);
  Examined examined{verdict.passed,
                    verdict.reason,
                    verdict.margin,
                    comparison.max_abs,
                    describe_place(out, comparison.worst),
                    comparison.mean_abs,
                    comparison.relative_l2,
                    tensors.products};
  if (!expected.lse || !verdict.passed) return examined;
  const LseJudgement lse = judge_lse(*expected.lse, tensors.buffers.at("lse"));
  examined.passed = lse.verdict.passed;
  examined.reason = lse.verdict.reason;
  examined.margin = std::max(examined.margin, lse.verdict.margin);
  return examined;
}

}  // namespace fatune::ptx
