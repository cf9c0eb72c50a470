// gates.cpp - runs over poisoned buffers, looks at everything around them, compares, and repeats.
#include "evaluate/gates.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/text.hpp"
#include "gpu/call.hpp"
#include "gpu/persisting.hpp"

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

std::string gate_of(Outcome outcome, std::string_view reason) {
  switch (outcome) {
    case Outcome::kInfeasible:
      return "constraints";
    case Outcome::kCompileError:
      return "compilation";
    case Outcome::kLaunchError:
    case Outcome::kTimeout:
    case Outcome::kCrashed:
      return "launch";
    case Outcome::kWrongResult:
      return std::string(reason.substr(0, reason.find(':')));
    default:
      return "";
  }
}

PhysicsFloor floor_of(const DeviceSession& session, const Problem& problem) {
  Environment environment = environment_of(session.facts);
  environment.max_sm_clock_mhz =
      std::max(environment.max_sm_clock_mhz, session.telemetry.max_sm_clock_mhz().value_or(0));
  return physics_floor(problem, environment);
}

MaybeFailure check_physics(const PhysicsFloor& floor, std::optional<Micros> hot,
                           std::optional<Micros> cold, Verification& verification) {
  if (!floor.unknown.empty()) {
    verification.not_run.push_back(std::string(kPhysicsGate) + ": " + floor.unknown);
    return std::nullopt;
  }
  std::string finding;
  if (hot) finding = physics_finding("hot", *hot, floor.hot);
  if (cold && finding.empty()) finding = physics_finding("cold", *cold, floor.cold);
  if (!finding.empty()) return Failure{Outcome::kWrongResult, finding, false};
  verification.gates.push_back(kPhysicsGate);
  return std::nullopt;
}

Failure failure_of(const Error& error, CUstream stream) {
  if (error.kind == ErrorKind::kEnvironment) return {Outcome::kUnavailable, error.message, false};
  if (error.kind == ErrorKind::kUsage) return {Outcome::kInfeasible, error.message, false};
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
    return fill_insides(program_.scratch(), *poison, stream);
  };
  if (const Status ready = prepare(); !ready) return failure_of(ready.error(), stream);
  session_.sampler->set_limit(problem_.kernel_limit());
  const auto time = session_.sampler->time_once([&] { return program_.queue(); });
  if (!time) return failure_of(time.error(), stream);
  if (!*time) return hang_failure(problem_.kernel_limit());
  return std::nullopt;
}

MaybeFailure GateKeeper::run_and_look(InputSet& set, std::optional<std::uint8_t> poison) {
  if (auto failure = run(set, poison)) return failure;
  return look_around(set);
}

MaybeFailure GateKeeper::to_host(std::size_t host) {
  const CUstream stream = session_.stream.raw();
  const Status copied =
      gpu::copy_to_host(problem_.host_output(host), problem_.out().address(), stream);
  if (!copied) return failure_of(copied.error(), stream);
  return std::nullopt;
}

/// Inputs unchanged, guard bands whole; takes the output's checksum on the way.
MaybeFailure GateKeeper::look_around(const InputSet& set) {
  const CUstream stream = session_.stream.raw();
  const GuardedBuffer* looked_at[] = {&set.q, &set.k, &set.v, &problem_.out()};
  const auto sums = problem_.checks().checksums(looked_at);
  if (!sums) return failure_of(sums.error(), stream);
  for (std::size_t i = 0; i < set.checksums.size(); ++i) {
    if ((*sums)[i] == set.checksums[i]) continue;
    return Failure{Outcome::kWrongResult, "inputs: the kernel changed " + looked_at[i]->name(),
                   false};
  }
  output_sum_ = sums->back();
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

/// One more run must leave the output whose checksum is `sum` and whose bytes, from a run over
/// `pattern`, are on the host.
MaybeFailure GateKeeper::same_again(InputSet& set, std::optional<std::uint8_t> poison,
                                    std::uint64_t sum, std::uint8_t pattern) {
  if (auto failure = run_and_look(set, poison)) return failure;
  if (output_sum_ == sum) return std::nullopt;
  if (auto failure = to_host(1)) return failure;
  const std::string finding = poison_finding(problem_.problem(), problem_.host_output(0), pattern,
                                             problem_.host_output(1), poison.value_or(pattern));
  if (finding.empty()) return std::nullopt;
  return Failure{Outcome::kWrongResult, finding, false};
}

MaybeFailure GateKeeper::verify_set(InputSet& set) {
  if (auto failure = run_and_look(set, kPoisons[0])) return failure;
  const std::uint64_t sum = output_sum_;
  if (auto failure = to_host(0)) return failure;
  if (auto failure = same_again(set, kPoisons[1], sum, kPoisons[0])) return failure;

  const Comparison comparison = compare(set.reference, problem_.host_output(0));
  const Judgement verdict = judge(problem_.problem(), comparison, set.limits);
  account(set, comparison, verdict);
  if (!verdict.passed) {
    return Failure{Outcome::kWrongResult,
                   "accuracy: " + verdict.reason + ", " +
                       std::string(name(set.which.distribution)) + " inputs",
                   false};
  }
  if (auto failure = same_again(set, std::nullopt, sum, kPoisons[0])) return failure;
  return std::nullopt;
}

MaybeFailure GateKeeper::verify() {
  verification_ = {};
  verified_.clear();
  for (InputSet& set : problem_.sets()) {
    if (auto failure = verify_set(set)) return failure;
    verified_.push_back(output_sum_);
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

/// The output must be the verified one of a set; one that was not verified is compared now.
MaybeFailure GateKeeper::expect_verified(std::size_t index, const std::string& when) {
  InputSet& set = problem_.sets()[index];
  if (auto failure = look_around(set)) return failure;
  if (verified_[index] == output_sum_) return std::nullopt;
  if (auto failure = to_host(1)) return failure;
  const Judgement verdict =
      judge(problem_.problem(), compare(set.reference, problem_.host_output(1)), set.limits);
  const std::string begin = std::string(kTimedOutputGate) + ": " + when + ", ";
  if (!verdict.passed) return Failure{Outcome::kWrongResult, begin + verdict.reason, false};
  if (verified_[index]) {
    return Failure{Outcome::kWrongResult, begin + "the output is not the verified one", false};
  }
  verified_[index] = output_sum_;
  return std::nullopt;
}

MaybeFailure GateKeeper::replay(const HotLoop& loop) {
  const auto time = session_.sampler->time_loop(loop);
  if (!time) return failure_of(time.error(), session_.stream.raw());
  if (!*time) return hang_failure(problem_.kernel_limit());
  return std::nullopt;
}

/// The timed graph, with the second set's data where the first set's was.
MaybeFailure GateKeeper::replay_swapped(const HotLoop& loop) {
  InputSet& first = problem_.sets()[0];
  InputSet& second = problem_.sets()[1];
  const auto swap = [&]() -> Status {
    FATUNE_TRY_STATUS(problem_.checks().swap(first.q, second.q));
    FATUNE_TRY_STATUS(problem_.checks().swap(first.k, second.k));
    return problem_.checks().swap(first.v, second.v);
  };
  const CUstream stream = session_.stream.raw();
  if (const Status swapped = swap(); !swapped) return failure_of(swapped.error(), stream);
  if (auto failure = replay(loop)) return failure;
  if (const Status back = swap(); !back) return failure_of(back.error(), stream);
  return std::nullopt;
}

MaybeFailure GateKeeper::check_outputs(const HotLoop* loop) {
  const CUstream stream = session_.stream.raw();
  verified_.resize(problem_.sets().size());
  const std::size_t other = problem_.sets().size() > 1 ? 1 : 0;
  session_.sampler->set_limit(problem_.kernel_limit());
  if (loop != nullptr) {
    const Status poisoned =
        gpu::fill_bytes(problem_.out().address(), kPoisons[0], problem_.out_bytes(), stream);
    if (!poisoned) return failure_of(poisoned.error(), stream);
    if (auto failure = replay(*loop)) return failure;
    if (auto failure = expect_verified(0, "after the timed launches")) return failure;
    // Over the first set's output: a kernel that keeps what it finds, or that knows its inputs by
    // their addresses, leaves it there.
    if (other != 0) {
      if (auto failure = replay_swapped(*loop)) return failure;
      const char* when = "after the timed launches, with other inputs at the same addresses";
      if (auto failure = expect_verified(1, when)) return failure;
    }
  }
  const std::pair<std::size_t, std::optional<std::uint8_t>> singles[] = {
      {other, kPoisons[1]}, {0, std::nullopt}, {other, kPoisons[0]}};
  for (const auto& [index, poison] : singles) {
    if (auto failure = run(problem_.sets()[index], poison)) return failure;
    if (auto failure = expect_verified(index, "launched once more")) return failure;
  }
  verification_.gates.push_back(kTimedOutputGate);
  return std::nullopt;
}

MaybeFailure GateKeeper::check_timed(const TimedRun& run) {
  const PhysicsFloor floor = floor_of(session_, problem_.problem());
  MaybeFailure failure = check_physics(floor, run.hot, run.cold, verification_);
  if (!failure) failure = check_outputs(run.loop);
  if (!failure) failure = check_persisting_lines();
  verification_.passed = !failure;
  return failure;
}

MaybeFailure GateKeeper::check_persisting_lines() {
  const CUstream stream = session_.stream.raw();
  const auto limit = gpu::persisting_limit();
  if (!limit) return failure_of(limit.error(), stream);
  if (*limit && **limit == 0) {
    verification_.gates.push_back(kPersistingGate);
    return std::nullopt;
  }
  const std::string gate = std::string(kPersistingGate) + ": ";
  const Status forbidden = gpu::forbid_persisting_lines(stream);
  if (!forbidden) return failure_of(forbidden.error(), stream);
  const auto least = gpu::persisting_limit();
  if (!least) return failure_of(least.error(), stream);
  if (!*limit || !*least || **least >= **limit) {
    verification_.not_run.push_back(gate + "the device has no limit for persisting lines to set");
    return std::nullopt;
  }
  return Failure{Outcome::kWrongResult,
                 gate + describe(Bytes(**limit)) +
                     " of the L2 cache were set aside for lines that survive a flush",
                 false};
}

}  // namespace fatune
