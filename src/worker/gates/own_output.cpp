// own_output.cpp: Judges the fp8 output that a library keeps in memory of its own.
#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "gpu/objects.hpp"
#include "worker/gates/gate_context.hpp"

namespace fatune {
namespace {

/// Chosen: rounding the library's values may cost 1.25 times as much as rounding the reference's.
constexpr double kMoreThanRounding = 1.25;

/// The first heads of attention's output, in another type.
TensorReference first_heads(const TensorReference& whole, Dtype type, std::int64_t heads) {
  TensorPlan tensor = whole.tensor;
  tensor.type = type;
  tensor.strides.clear();
  tensor.shape[0] = 1;
  tensor.shape[1] = heads;
  const auto count = static_cast<std::ptrdiff_t>(tensor.elements());
  return make_reference(tensor, {whole.values.begin(), whole.values.begin() + count});
}

/// The relative 2-norm of the error of rounding the reference's values to its type.
double rounding_error(const TensorReference& reference) {
  std::vector<std::byte> rounded;
  rounded.reserve(reference.values.size());
  for (const float value : reference.values)
    rounded.push_back(static_cast<std::byte>(encode(*reference.tensor.type, value)));
  return compare(reference, rounded).relative_l2;
}

}  // namespace

Judged judge_own_output(const TensorReference& out, Dtype type, std::int64_t heads,
                        std::span<const std::byte> elements) {
  const std::span<const float> values = decode_table(type);
  const auto unwritten = std::ranges::count_if(elements, [&](std::byte element) {
    return !std::isfinite(values[static_cast<std::size_t>(element)]);
  });
  const TensorReference reference = first_heads(out, type, heads);
  Judged judged;
  judged.figures = compare(reference, elements.first(reference.tensor.bytes()));
  Judgement& verdict = judged.verdict;
  verdict.worst_rule = "own_output";
  if (unwritten > 0) {
    verdict.reason = fmt::format("{} of {} elements of its {} output are not finite", unwritten,
                                 elements.size(), name(type));
    verdict.margin = kWorstMargin;
    return judged;
  }
  verdict.passed = true;
  if (!out.limits.relative_l2) return judged;
  const double limit = *out.limits.relative_l2 + kMoreThanRounding * rounding_error(reference);
  verdict.margin = ratio(judged.figures.relative_l2, limit);
  verdict.passed = verdict.margin <= 1;
  if (!verdict.passed) {
    verdict.reason =
        fmt::format("its {} output is off by {:.3g} in the 2-norm, limit {:.3g}; heads judged: {}",
                    name(type), judged.figures.relative_l2, limit, heads);
  }
  return judged;
}

MaybeFailure check_own_output(GateContext& context, const OwnOutput& own, const InputSet& set) {
  std::vector<std::byte> elements(own.memory->bytes());
  const CUstream stream = context.session.stream.raw();
  const Status fetched = gpu::copy_to_host(elements, own.memory->address(), stream);
  if (auto failure = context.failed(fetched)) return failure;
  const Judged judged = judge_own_output(set.outputs.front(), own.type, own.heads, elements);
  if (tolerate_baseline_error(context, judged, set)) return std::nullopt;
  account(judged, set.which, context.verification);
  if (judged.verdict.passed) return std::nullopt;
  return refused(GateId::kAccuracy,
                 fmt::format("{}, {} inputs", judged.verdict.reason, name(set.which.distribution)));
}

void note_own_output(GateContext& context) {
  const auto own = context.program.own_output();
  if (!own) return;
  Verification& verification = context.verification;
  for (const GateId gate : {GateId::kAccuracy, GateId::kRepeat}) drop_gate(gate, verification);
  verification.not_run.push_back(
      fmt::format("accuracy: writes {}, judged apart: off by {:.3g} in the 2-norm, {:.2f} of the "
                  "limit; heads judged, which have its factors: {}",
                  name(own->type), verification.relative_l2, verification.margin, own->heads));
}

}  // namespace fatune
