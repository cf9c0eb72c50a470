// own_output.cpp - what a library left in an fp8 output of its own, to a verdict.
#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "gpu/objects.hpp"
#include "worker/device/gates.hpp"

namespace fatune {
namespace {

/// Chosen: rounding the library's values may cost so much more than rounding the reference's.
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

/// Relative 2-norm of what the type's rounding takes from the reference's values.
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

MaybeFailure GateKeeper::judge_own_output(const OwnOutput& own, const InputSet& set) {
  std::vector<std::byte> elements(own.memory->bytes());
  const Status fetched = gpu::copy_to_host(elements, own.memory->address(), session_.stream.raw());
  if (auto failure = failed(fetched)) return failure;
  const Judged judged =
      fatune::judge_own_output(set.outputs.front(), own.type, own.heads, elements);
  if (counts_although_wrong(judged, set)) return std::nullopt;
  account(judged, set.which, verification_);
  if (judged.verdict.passed) return std::nullopt;
  std::string reason =
      fmt::format("accuracy: {}, {} inputs", judged.verdict.reason, name(set.which.distribution));
  return Failure{Outcome::kWrongResult, std::move(reason), false};
}

/// Over NaN, which every element of the output must replace.
MaybeFailure GateKeeper::check_own_output(const OwnOutput& own, const HotLoop* loop) {
  InputSet& set = problem_.sets().front();
  session_.sampler->set_limit(problem_.kernel_limit());
  if (loop != nullptr) {
    const Status filled = fill_insides(program_.scratch(), kNanByte, session_.stream.raw());
    if (auto failure = failed(filled)) return failure;
    if (auto failure = unfinished(session_.sampler->time_loop(*loop))) return failure;
    if (auto failure = judge_own_output(own, set)) return failure;
  }
  if (auto failure = run_and_look(set, kNanByte)) return failure;
  if (auto failure = judge_own_output(own, set)) return failure;
  verification_.gates.push_back(kTimedOutputGate);
  return std::nullopt;
}

void GateKeeper::note_own_output() {
  const auto own = program_.own_output();
  if (!own) return;
  for (const char* gate : {"accuracy", "repeat"}) std::erase(verification_.gates, gate);
  verification_.not_run.push_back(
      fmt::format("accuracy: writes {}, judged apart: off by {:.3g} in the 2-norm, {:.2f} of the "
                  "limit; heads judged, which have its factors: {}",
                  name(own->type), verification_.relative_l2, verification_.margin, own->heads));
}

}  // namespace fatune
