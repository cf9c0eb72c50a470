// gates.cpp - runs over poisoned buffers, looks at everything around them, compares, and repeats.
#include "evaluate/gates.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/text.hpp"
#include "gpu/call.hpp"

namespace fatune {
namespace {

/// NaN in every element type; and a finite number, which a kernel that reads what it should write
/// would pass on.
constexpr std::uint8_t kPoisons[] = {0xff, 0x5a};
/// A margin above it is worth more seeds.
constexpr double kNearLimit = 0.9;

/// Byte offset of the first difference; the size when there is none.
std::size_t first_difference(std::span<const std::byte> a, std::span<const std::byte> b) {
  if (std::memcmp(a.data(), b.data(), a.size()) == 0) return a.size();
  return static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin()).first - a.begin());
}

}  // namespace

const std::vector<std::string>& gate_names() {
  static const std::vector<std::string> names = {"launch",      "poison",   "inputs",
                                                 "guard_bands", "accuracy", "repeat"};
  return names;
}

Failure failure_of(const Error& error, CUstream stream) {
  const bool broken = gpu::context_broken(stream);
  return {broken ? Outcome::kCrashed : Outcome::kLaunchError, error.message, broken};
}

Failure hang_failure(std::chrono::microseconds limit) {
  const double seconds = static_cast<double>(limit.count()) * 1e-6;
  return {Outcome::kTimeout, "a launch had not finished after " + describe(Seconds(seconds)), true};
}

std::string poison_finding(const Problem& problem, std::span<const std::byte> first,
                           std::uint8_t first_pattern, std::span<const std::byte> second,
                           std::uint8_t second_pattern) {
  const std::size_t at = first_difference(first, second);
  if (at == first.size()) return "";
  const auto width = static_cast<std::size_t>(size_of(problem.dtype));
  std::size_t different = 0, unwritten = 0, first_unwritten = 0;
  for (std::size_t i = 0; i < first.size(); i += width) {
    if (std::memcmp(first.data() + i, second.data() + i, width) == 0) continue;
    ++different;
    bool kept = true;
    for (std::size_t byte = i; byte < i + width; ++byte) {
      kept = kept && first[byte] == std::byte{first_pattern} &&
             second[byte] == std::byte{second_pattern};
    }
    if (kept && unwritten++ == 0) first_unwritten = i / width;
  }
  const std::string all = " of " + std::to_string(problem.query_elements()) + " outputs ";
  if (unwritten > 0) {
    return "poison: " + std::to_string(unwritten) + all + "were never written, first at " +
           describe(place_of(problem, static_cast<std::int64_t>(first_unwritten)));
  }
  return "repeat: " + std::to_string(different) + all + "differ between two runs, first at " +
         describe(place_of(problem, static_cast<std::int64_t>(at / width)));
}

std::vector<const GuardedBuffer*> GateKeeper::buffers_of(const InputSet& set) const {
  std::vector<const GuardedBuffer*> buffers = {&set.q, &set.k, &set.v, &problem_.out()};
  for (const GuardedBuffer& scratch : program_.scratch()) buffers.push_back(&scratch);
  return buffers;
}

MaybeFailure GateKeeper::run(InputSet& set, std::optional<std::uint8_t> poison) {
  const CUstream stream = session_.stream.raw();
  const auto prepare = [&]() -> Status {
    FATUNE_TRY_STATUS(program_.bind(problem_.addresses(set)));
    if (!poison) return {};
    FATUNE_TRY_STATUS(
        gpu::fill_bytes(problem_.out().address(), *poison, problem_.out_bytes(), stream));
    return program_.poison_scratch(*poison);
  };
  if (const Status ready = prepare(); !ready) return failure_of(ready.error(), stream);
  session_.sampler->set_limit(problem_.kernel_limit());
  const auto time = session_.sampler->time_once([&] { return program_.queue(); });
  if (!time) return failure_of(time.error(), stream);
  if (!*time) return hang_failure(problem_.kernel_limit());
  return std::nullopt;
}

MaybeFailure GateKeeper::run_to_host(InputSet& set, std::optional<std::uint8_t> poison,
                                     std::size_t host) {
  if (auto failure = run(set, poison)) return failure;
  if (auto failure = look_around(set)) return failure;
  const CUstream stream = session_.stream.raw();
  const Status copied =
      gpu::copy_to_host(problem_.host_output(host), problem_.out().address(), stream);
  if (!copied) return failure_of(copied.error(), stream);
  return std::nullopt;
}

/// Inputs unchanged, guard bands whole.
MaybeFailure GateKeeper::look_around(const InputSet& set) {
  const CUstream stream = session_.stream.raw();
  const GuardedBuffer* inputs[] = {&set.q, &set.k, &set.v};
  const auto sums = problem_.checks().checksums(inputs);
  if (!sums) return failure_of(sums.error(), stream);
  for (std::size_t i = 0; i < std::size(inputs); ++i) {
    if ((*sums)[i] == set.checksums[i]) continue;
    return Failure{Outcome::kWrongResult, "inputs: the kernel changed " + inputs[i]->name(), false};
  }
  const auto findings = problem_.checks().check_bands(buffers_of(set));
  if (!findings) return failure_of(findings.error(), stream);
  if (findings->empty()) return std::nullopt;
  return Failure{Outcome::kWrongResult, "guard_bands: " + describe(findings->front()), false};
}

void GateKeeper::account(const InputSet& set, const Comparison& comparison,
                         const Judgement& verdict) {
  if (verdict.margin >= verification_.margin) {
    verification_.margin = verdict.margin;
    verification_.worst_rule = verdict.worst_rule;
  }
  ++verification_.seeds;
  if (set.which.distribution != Distribution::kNormal) return;
  const bool first = verification_.max_abs_diff == 0 && verification_.seeds == 1;
  verification_.max_abs_diff = std::max(verification_.max_abs_diff, comparison.max_abs);
  verification_.mean_abs_diff = std::max(verification_.mean_abs_diff, comparison.mean_abs);
  verification_.relative_l2 =
      std::max(verification_.relative_l2, std::min(comparison.relative_l2, kWorstMargin));
  verification_.allclose_1e3 = (first || verification_.allclose_1e3) && comparison.allclose_1e3;
}

MaybeFailure GateKeeper::verify_set(InputSet& set) {
  const auto first = problem_.host_output(0), second = problem_.host_output(1);
  if (auto failure = run_to_host(set, kPoisons[0], 0)) return failure;
  if (auto failure = run_to_host(set, kPoisons[1], 1)) return failure;
  const std::string finding =
      poison_finding(problem_.problem(), first, kPoisons[0], second, kPoisons[1]);
  if (!finding.empty()) return Failure{Outcome::kWrongResult, finding, false};

  const Comparison comparison = compare(set.reference, first);
  const Judgement verdict = judge(problem_.problem(), comparison, set.limits);
  account(set, comparison, verdict);
  if (!verdict.passed) {
    return Failure{Outcome::kWrongResult,
                   "accuracy: " + verdict.reason + ", " +
                       std::string(name(set.which.distribution)) + " inputs",
                   false};
  }
  if (auto failure = run_to_host(set, std::nullopt, 1)) return failure;
  const std::string repeated =
      poison_finding(problem_.problem(), first, kPoisons[0], second, kPoisons[0]);
  if (!repeated.empty()) return Failure{Outcome::kWrongResult, repeated, false};
  return std::nullopt;
}

MaybeFailure GateKeeper::verify() {
  verification_ = {};
  for (InputSet& set : problem_.sets()) {
    if (auto failure = verify_set(set)) return failure;
  }
  if (verification_.margin > kNearLimit) {
    auto extra = problem_.extra_sets();
    if (!extra) return failure_of(extra.error(), session_.stream.raw());
    for (InputSet& set : *extra) {
      if (auto failure = verify_set(set)) return failure;
    }
  }
  verification_.passed = true;
  verification_.gates = gate_names();
  return std::nullopt;
}

MaybeFailure GateKeeper::launch_only() {
  verification_ = {};
  verification_.skipped = true;
  verification_.gates = {"launch"};
  return run(problem_.sets().front(), kPoisons[0]);
}

MaybeFailure GateKeeper::check_timed_output() {
  InputSet& set = problem_.sets().front();
  const CUstream stream = session_.stream.raw();
  const Status copied =
      gpu::copy_to_host(problem_.host_output(1), problem_.out().address(), stream);
  if (!copied) return failure_of(copied.error(), stream);
  const Judgement verdict =
      judge(problem_.problem(), compare(set.reference, problem_.host_output(1)), set.limits);
  if (verdict.passed) return look_around(set);
  verification_.passed = false;
  return Failure{Outcome::kWrongResult, "accuracy: after the timed launches, " + verdict.reason,
                 false};
}

}  // namespace fatune
