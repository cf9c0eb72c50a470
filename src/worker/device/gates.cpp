// gates.cpp - runs over poisoned buffers, looks at everything around them, compares, and repeats.
#include "worker/device/gates.hpp"

#include <algorithm>
#include <functional>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "core/text.hpp"
#include "gpu/driver.hpp"
#include "gpu/objects.hpp"

namespace fatune {
namespace {

/// A margin above it is worth more seeds.
constexpr double kNearLimit = 0.9;
/// Chosen: an output of zeros is off by 1.
constexpr double kOffInOnes = 0.5;

Failure wrong_result(std::string reason) {
  return {Outcome::kWrongResult, std::move(reason), false};
}

}  // namespace

const std::vector<std::string>& gate_names() {
  static const std::vector<std::string> names = {"launch",      "poison",   "inputs",
                                                 "guard_bands", "accuracy", "repeat"};
  return names;
}

PhysicsFloor floor_of(const DeviceSession& session, const Problem& problem) {
  Environment environment = environment_of(session.facts);
  environment.max_sm_clock_mhz =
      std::max(environment.max_sm_clock_mhz, session.telemetry.max_sm_clock_mhz().value_or(0));
  return physics_floor(problem, environment);
}

MaybeFailure check_physics(const PhysicsFloor& floor, const TimedRun& run,
                           Verification& verification) {
  if (!floor.unknown.empty()) {
    verification.not_run.push_back(std::string(kPhysicsGate) + ": " + floor.unknown);
    return std::nullopt;
  }
  const std::tuple<const char*, std::optional<Micros>, const Floor&> times[] = {
      {"hot", run.hot, floor.hot},
      {"plain", run.plain, floor.hot},
      {"cold", run.cold, floor.cold},
      {"in a layer", run.in_layer, floor.in_layer}};
  for (const auto& [which, time, least] : times) {
    if (!time) continue;
    std::string finding = physics_finding(which, *time, least);
    if (!finding.empty()) return wrong_result(std::move(finding));
  }
  verification.gates.push_back(kPhysicsGate);
  return std::nullopt;
}

MaybeFailure GateKeeper::unfinished(const Result<MaybeTime>& time) const {
  if (time && !*time) return hang_failure(problem_.kernel_limit());
  return failed(time);
}

/// All, but lse only from a program that writes it.
std::span<const GuardedBuffer> GateKeeper::checked_outputs() const {
  const bool all = !problem_.problem().lse || program_.writes_lse();
  return all ? problem_.outputs() : problem_.outputs().first(1);
}

MaybeFailure GateKeeper::fill_outputs(std::uint8_t pattern) {
  pattern_ = pattern;
  return failed(fill_insides(problem_.outputs(), pattern, session_.stream.raw()));
}

MaybeFailure GateKeeper::run(InputSet& set, std::optional<std::uint8_t> poison) {
  if (auto failure = failed(program_.bind(problem_.addresses(set)))) return failure;
  if (poison) {
    if (auto failure = fill_outputs(*poison)) return failure;
    const Status filled = fill_insides(program_.scratch(), *poison, session_.stream.raw());
    if (auto failure = failed(filled)) return failure;
  }
  session_.sampler->set_limit(problem_.kernel_limit());
  return unfinished(session_.sampler->time_once([&] { return program_.queue(); }));
}

MaybeFailure GateKeeper::run_and_look(InputSet& set, std::optional<std::uint8_t> poison) {
  if (auto failure = run(set, poison)) return failure;
  return look_around(set);
}

MaybeFailure GateKeeper::to_host(std::size_t host) {
  for (std::size_t i = 0; i < checked_outputs().size(); ++i) {
    if (auto failure = failed(problem_.fetch(host, i))) return failure;
  }
  return std::nullopt;
}

/// Inputs unchanged, guard bands whole; takes the outputs' checksums on the way.
MaybeFailure GateKeeper::look_around(const InputSet& set) {
  const auto looked_at = pointers_to({set.inputs, checked_outputs()});
  const auto sums = problem_.checks().checksums(looked_at);
  if (!sums) return failed(sums);
  for (std::size_t i = 0; i < set.checksums.size(); ++i) {
    if ((*sums)[i] != set.checksums[i])
      return wrong_result("inputs: the kernel changed " + looked_at[i]->name());
  }
  output_sums_.assign(sums->begin() + static_cast<std::ptrdiff_t>(set.checksums.size()),
                      sums->end());
  const auto findings = problem_.checks().check_bands(
      pointers_to({set.inputs, problem_.outputs(), program_.scratch()}));
  if (!findings) return failed(findings);
  if (!findings->empty()) return wrong_result("guard_bands: " + describe(findings->front()));
  return look_between_rows();
}

/// Gaps hold the pattern of the last filling, so the checksum of an output with gaps is one of its
/// elements.
MaybeFailure GateKeeper::look_between_rows() {
  for (std::size_t i = 0; i < output_sums_.size(); ++i) {
    if (!problem_.has_gaps(i)) continue;
    if (auto failure = failed(problem_.fetch(1, i))) return failure;
    const std::string finding =
        gap_finding(problem_.output(i), {problem_.host_memory(1, i), pattern_});
    if (!finding.empty()) return wrong_result(finding);
    const std::span<const std::byte> elements = problem_.host_output(1, i);
    output_sums_[i] = std::hash<std::string_view>()(
        {reinterpret_cast<const char*>(elements.data()), elements.size()});
  }
  return std::nullopt;
}

/// Of what to_host() brought.
Judged GateKeeper::judge(const InputSet& set, std::size_t host) const {
  return judge_outputs(problem_, set, host, checked_outputs().size());
}

/// One more run must leave the outputs whose checksums are `sums` and whose bytes, from a run over
/// `pattern`, are on the host; of a program that may vary, others that are right, too.
MaybeFailure GateKeeper::same_again(InputSet& set, std::optional<std::uint8_t> poison,
                                    const Sums& sums, std::uint8_t pattern) {
  if (auto failure = run_and_look(set, poison)) return failure;
  if (output_sums_ == sums) return std::nullopt;
  if (auto failure = to_host(1)) return failure;
  for (std::size_t i = 0; i < checked_outputs().size(); ++i) {
    const PoisonedRun before{problem_.host_output(0, i), pattern};
    const PoisonedRun after{problem_.host_output(1, i), poison.value_or(pattern)};
    const std::string finding = poison_finding(problem_.output(i), before, after);
    if (finding.empty()) continue;
    const Judged judged = judge(set, 1);
    Judgement verdict = judged.worst();
    const bool counts = counts_although_wrong(judged, set);
    verdict.passed = verdict.passed || counts;
    if (auto failure = variation_.differs(finding, verdict)) return failure;
    if (!counts) account_margin(verdict, verification_);
  }
  return std::nullopt;
}

MaybeFailure GateKeeper::verify_set(InputSet& set) {
  if (auto failure = run_and_look(set, kPoisons[0])) return failure;
  if (const auto own = program_.own_output()) return judge_own_output(*own, set);
  const Sums sums = output_sums_;
  if (auto failure = to_host(0)) return failure;
  if (auto failure = same_again(set, kPoisons[1], sums, kPoisons[0])) return failure;

  const Judged judged = judge(set, 0);
  if (counts_although_wrong(judged, set)) return same_again(set, std::nullopt, sums, kPoisons[0]);
  account(judged, set.which, verification_);
  if (!judged.worst().passed) {
    regions_ = wrong_regions(problem_, set, 0);
    return wrong_result(fmt::format("accuracy: {}, {} inputs", judged.worst().reason,
                                    name(set.which.distribution)));
  }
  return same_again(set, std::nullopt, sums, kPoisons[0]);
}

/// What is wrong with a rival without making it another computation: 8-bit sums as its authors
/// chose, which is all that goes wrong where every v is 1; and numbers where an input is none. Its
/// times count, and its row says so. Of templates nothing is.
bool GateKeeper::counts_although_wrong(const Judged& judged, const InputSet& set) {
  const Judgement& verdict = judged.worst();
  if (verdict.passed || program_.is_template()) return false;
  const Distribution inputs = set.which.distribution;
  const bool in_8_bits = has_descales(problem_.problem()) || program_.own_output();
  const bool numbers = verdict.margin < kWorstMargin;  // and no rows that should be 0
  if (inputs == Distribution::kOnesV && in_8_bits && numbers &&
      judged.figures.relative_l2 < kOffInOnes) {
    concessions_["where v is 1, and sums lose most"] = verdict.reason;
  } else if (inputs == Distribution::kNotFinite && verdict.worst_rule == "not_finite") {
    concessions_["where inputs are no numbers"] = verdict.reason;
  } else {
    return false;
  }
  return true;
}

void GateKeeper::note_concessions() {
  for (const auto& [where, reason] : concessions_)
    verification_.not_run.push_back(fmt::format("accuracy {}: {}; its times count", where, reason));
}

MaybeFailure GateKeeper::verify(const PhaseNote& note) {
  std::string no_extra;
  verification_ = {};
  concessions_.clear();
  verified_.clear();
  for (InputSet& set : problem_.sets()) {
    if (auto failure = verify_set(set)) return failure;
    verified_.push_back(output_sums_);
  }
  if (verification_.margin > kNearLimit) {
    const auto extra = problem_.extra_sets(note);
    if (!extra && gpu::context_broken(session_.stream.raw())) return failed(extra);
    if (!extra) no_extra = extra.error().message;
    for (InputSet& set : extra ? *extra : std::span<InputSet>()) {
      if (auto failure = verify_set(set)) return failure;
    }
  }
  verification_.gates = gate_names();
  if (auto failure = check_early_start()) return failure;
  verification_.passed = true;
  note_own_output();
  note_concessions();
  variation_.note_in(verification_);
  if (!no_extra.empty()) verification_.not_run.push_back("accuracy, more seeds: " + no_extra);
  if (checked_outputs().size() < problem_.outputs().size())
    verification_.not_run.push_back("accuracy of lse: the implementation computes out alone");
  return std::nullopt;
}

/// Behind a kernel that lets it begin and then changes the inputs, and overwrites the output, the
/// output must be that of the changed inputs.
MaybeFailure GateKeeper::check_early_start() {
  if (!program_.begins_early()) return std::nullopt;
  if (problem_.sets().size() < 2) {
    verification_.not_run.push_back(std::string(kEarlyStartGate) + ": there is one set of inputs");
    return std::nullopt;
  }
  InputSet& first = problem_.sets()[0];
  InputSet& second = problem_.sets()[1];
  if (auto failure = failed(program_.bind(problem_.addresses(first)))) return failure;
  std::vector<DeviceChecks::Exchange> pairs;
  for (std::size_t i = 0; i < first.inputs.size(); ++i)
    pairs.push_back({first.inputs[i], second.inputs[i]});
  if (auto failure = fill_outputs(kPoisons[0])) return failure;
  const auto both = [&]() -> Status {  // nothing between the two, or the second could not be early
    FATUNE_TRY_STATUS(
        problem_.checks().exchange_late(pairs, problem_.outputs().front(), kPoisons[0]));
    return program_.queue();
  };
  if (auto failure = unfinished(session_.sampler->time_once(both))) return failure;
  if (auto failure = failed(swap_inputs())) return failure;
  const char* when = "behind a kernel that still writes its inputs and output";
  if (auto failure = expect_verified(1, kEarlyStartGate, when)) return failure;
  verification_.gates.push_back(kEarlyStartGate);
  return std::nullopt;
}

/// Queues the exchange of the first two sets' data.
Status GateKeeper::swap_inputs() {
  InputSet& first = problem_.sets()[0];
  InputSet& second = problem_.sets()[1];
  for (std::size_t i = 0; i < first.inputs.size(); ++i)
    FATUNE_TRY_STATUS(problem_.checks().swap(first.inputs[i], second.inputs[i]));
  return {};
}

MaybeFailure GateKeeper::launch_only() {
  verification_ = {};
  verification_.skipped = true;
  verification_.gates = {"launch"};
  return run(problem_.sets().front(), kPoisons[0]);
}

/// The output must be the verified one of a set; one that was not verified is compared now, and so
/// is another one of a program that may vary.
MaybeFailure GateKeeper::expect_verified(std::size_t index, const char* gate,
                                         const std::string& when) {
  InputSet& set = problem_.sets()[index];
  if (auto failure = look_around(set)) return failure;
  if (verified_[index] == output_sums_) return std::nullopt;
  if (auto failure = to_host(1)) return failure;
  const Judged judged = judge(set, 1);
  const Judgement& verdict = judged.worst();
  const std::string begin = std::string(gate) + ": " + when + ", ";
  if (!verdict.passed) return wrong_result(begin + verdict.reason);
  if (verified_[index])
    return variation_.differs(begin + "the output is not the verified one", verdict);
  verified_[index] = output_sums_;
  return std::nullopt;
}

/// The timed graph, with the second set's data where the first set's was.
MaybeFailure GateKeeper::replay_swapped(const HotLoop& loop) {
  if (auto failure = failed(swap_inputs())) return failure;
  if (auto failure = unfinished(session_.sampler->time_loop(loop))) return failure;
  return failed(swap_inputs());
}

/// Into a poisoned output; then over the first set's output, which a kernel that keeps what it
/// finds, or that knows its inputs by their addresses, leaves there.
MaybeFailure GateKeeper::check_graph(const HotLoop& loop) {
  if (auto failure = fill_outputs(kPoisons[0])) return failure;
  if (auto failure = unfinished(session_.sampler->time_loop(loop))) return failure;
  if (auto failure = expect_verified(0, kTimedOutputGate, "after the timed launches"))
    return failure;
  if (problem_.sets().size() < 2) return std::nullopt;
  if (auto failure = replay_swapped(loop)) return failure;
  return expect_verified(1, kTimedOutputGate,
                         "after the timed launches, with other inputs at the same addresses");
}

MaybeFailure GateKeeper::check_outputs(const TimedRun& run) {
  if (const auto own = program_.own_output()) return check_own_output(*own, run.loop);
  verified_.resize(problem_.sets().size());
  const std::size_t other = problem_.sets().size() > 1 ? 1 : 0;
  session_.sampler->set_limit(problem_.kernel_limit());
  for (const HotLoop* loop : {run.loop, run.plain_loop}) {
    if (loop == nullptr) continue;
    if (auto failure = check_graph(*loop)) return failure;
  }
  const std::pair<std::size_t, std::optional<std::uint8_t>> singles[] = {
      {other, kPoisons[1]}, {0, std::nullopt}, {other, kPoisons[0]}};
  for (const auto& [index, poison] : singles) {
    if (auto failure = this->run(problem_.sets()[index], poison)) return failure;
    if (auto failure = expect_verified(index, kTimedOutputGate, "launched once more"))
      return failure;
  }
  verification_.gates.push_back(kTimedOutputGate);
  return std::nullopt;
}

MaybeFailure GateKeeper::check_timed(const TimedRun& run) {
  const PhysicsFloor floor = floor_of(session_, problem_.problem());
  MaybeFailure failure = check_physics(floor, run, verification_);
  if (!failure) failure = check_outputs(run);
  if (!failure) failure = check_same_work(run);
  if (!failure) failure = check_persisting_lines();
  if (!failure) failure = check_carry_over();
  note_own_output();
  note_concessions();
  variation_.note_in(verification_);
  verification_.passed = !failure;
  return failure;
}

MaybeFailure GateKeeper::check_persisting_lines() {
  const auto limit = gpu::persisting_limit();
  if (!limit) return failed(limit);
  if (*limit && **limit == 0) {
    verification_.gates.push_back(kPersistingGate);
    return std::nullopt;
  }
  if (auto failure = failed(gpu::forbid_persisting_lines(session_.stream.raw()))) return failure;
  const auto least = gpu::persisting_limit();
  if (!least) return failed(least);
  const std::string gate = std::string(kPersistingGate) + ": ";
  if (!*limit || !*least || **least >= **limit) {
    verification_.not_run.push_back(gate + "the device has no limit for persisting lines to set");
    return std::nullopt;
  }
  return wrong_result(gate + describe(Bytes(**limit)) +
                      " of the L2 cache were set aside for lines that survive a flush");
}

}  // namespace fatune
