// fake_evaluator.cpp: Simulates compilation, verification and timing by formula.
#include "support/fake_evaluator.hpp"

#include <numeric>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/hash.hpp"
#include "core/interrupt.hpp"
#include "model/results/statistics.hpp"
#include "support/test_kernels.hpp"

namespace fatune::test {
namespace {

bool reaches_device(Outcome outcome) {
  return outcome != Outcome::kInfeasible && outcome != Outcome::kCompileError &&
         outcome != Outcome::kDuplicate;
}

Resources resources_for(const Config& config) {
  Resources used;
  used.registers = 64;
  used.threads = 128;
  used.dynamic_shared_bytes =
      config.settings.empty() ? 0 : 1024 * config.settings.front().value.number;
  return used;
}

Verification passed_verification() {
  Verification verification;
  verification.passed = true;
  verification.margin = 0.25;
  verification.worst_rule = "max_abs";
  verification.max_abs_diff = 0.000244140625;
  verification.seeds = 2;
  verification.gates = {{GateId::kLaunch}, {GateId::kAccuracy}, {GateId::kRepeat}};
  return verification;
}

/// Returns a fixed ramp from -spread to +spread around the center, in an order that depends on the
/// salt.
std::vector<double> rounds_around(double center_us, double spread, int rounds, std::size_t salt) {
  std::vector<double> values;
  for (int i = 0; i < rounds; ++i) {
    const auto step = static_cast<double>((static_cast<std::size_t>(i) * 7 + salt * 3) %
                                          static_cast<std::size_t>(rounds));
    values.push_back(center_us * (1 + spread * (2 * step / (rounds - 1) - 1)));
  }
  return values;
}

Timing final_timing(const std::vector<double>& rounds_us, const FinalPlan& plan) {
  Timing timing = summarize(rounds_us, plan.launches_per_round);
  const Interval interval = bootstrap_median(rounds_us, 1000, plan.seed);
  timing.ci95_low_us = interval.low;
  timing.ci95_high_us = interval.high;
  return timing;
}

}  // namespace

double number(const Config& config, std::string_view name) {
  const Value* value = config.find(name);
  return value == nullptr ? 0 : static_cast<double>(value->number);
}

FakeEvaluator::FakeEvaluator(FakeDevice device) : device_(std::move(device)) {
  environment_.device_name = "Formula 1";
  environment_.driver = "1.0";
  environment_.nvrtc = "13.0";
  environment_.fatune = "0.1.0";
  environment_.limits = test_limits();
}

Status FakeEvaluator::begin_problem(const Problem& problem, const RunPlan&) {
  if (interrupted()) return Error{ErrorKind::kInterrupted, "interrupted while references are made"};
  ++problems_begun_;
  problem_ = problem;
  first_with_code_.clear();
  return {};
}

Status FakeEvaluator::submit(const Candidate& candidate) {
  submitted_.push_back(candidate);
  return {};
}

void FakeEvaluator::prepare(std::vector<Candidate> likely) {
  std::vector<std::string> keys;
  for (const Candidate& candidate : likely) keys.push_back(candidate_key(candidate));
  prepared_.push_back(std::move(keys));
}

Result<CandidateRecord> FakeEvaluator::collect() {
  FATUNE_CHECK(next_ || !submitted_.empty(),
               "something has to be submitted before it can be collected");
  CandidateRecord record;
  if (next_) {
    record = *std::exchange(next_, std::nullopt);
  } else {
    FATUNE_TRY(record, run_oldest());
  }
  if (device_.early && !submitted_.empty()) {
    FATUNE_TRY(next_, run_oldest());
    if (on_early_result) FATUNE_TRY_STATUS(on_early_result(*next_));
  }
  return record;
}

Result<CandidateRecord> FakeEvaluator::run_oldest() {
  if (device_.dies_after && evaluated_.size() >= *device_.dies_after) {
    return device_error("the device is gone");
  }
  const Candidate candidate = submitted_.front();
  submitted_.pop_front();
  if (device_.on_result) device_.on_result(evaluated_.size());
  CandidateRecord record = evaluate(candidate);
  if (on_start && reaches_device(record.outcome)) {
    FATUNE_TRY_STATUS(on_start(started(record)));
  }
  if (on_progress) on_progress("timing");
  evaluated_.push_back(record.key);
  seconds_ += device_.seconds_each;
  return record;
}

void FakeEvaluator::remember(const Candidate&, const CandidateRecord& record) {
  if (record.outcome != Outcome::kDuplicate) first_with_code_.emplace(record.cubin, record.id);
}

double FakeEvaluator::cost_of(const Candidate& candidate) const {
  return device_.cost_on ? device_.cost_on(candidate.config, candidate.problem)
                         : device_.cost_us(candidate.config);
}

CandidateRecord FakeEvaluator::evaluate(const Candidate& candidate) {
  CandidateRecord record;
  record.id = candidate_id(candidate, "fake");
  record.key = candidate_key(candidate);
  record.kernel = candidate.kernel->manifest.name;
  record.config = to_json(candidate.config);
  record.problem = candidate.problem;
  const std::string text =
      device_.code ? device_.code(candidate.config) : describe(candidate.config);
  record.cubin = sha256_hex(record.kernel + text).substr(0, 16);
  if (device_.fails) {
    if (const auto planned = device_.fails(candidate.config)) {
      record.outcome = *planned;
      record.reason = "planned " + std::string(name(*planned));
    }
  }
  if (record.outcome == Outcome::kMeasured) {
    const auto [first, is_new] = first_with_code_.emplace(record.cubin, record.id);
    if (!is_new) {
      record.outcome = Outcome::kDuplicate;
      record.duplicate_of = first->second;
      record.reason = "same machine code as " + first->second;
    }
  }
  if (record.outcome == Outcome::kMeasured || record.outcome == Outcome::kPruned)
    measure(candidate, record);
  return record;
}

void FakeEvaluator::measure(const Candidate& candidate, CandidateRecord& record) const {
  Timing timing;
  timing.median_us = timing.q1_us = timing.q3_us = timing.min_us = cost_of(candidate);
  timing.sem_relative = 0.001;
  timing.samples = 10;
  timing.killed_early = record.outcome == Outcome::kPruned;
  record.hot = timing;
  record.verification = passed_verification();
  record.resources = resources_for(candidate.config);
  record.spent.gpu_wait_s = 0.125;
}

Result<std::vector<FinalRecord>> FakeEvaluator::finals(
    const std::vector<Implementation>& contestants, const FinalPlan& plan) {
  if (device_.on_finals) FATUNE_TRY_STATUS(device_.on_finals(finals_run_));
  ++finals_run_;
  seconds_ += device_.seconds_finals;
  std::vector<FinalRecord> records;
  for (const Implementation& contestant : contestants) {
    FinalRecord& record = records.emplace_back(compete(contestant, plan));
    if (!device_.wrong_at_last || !record.is_candidate() || !device_.wrong_at_last(record.problem))
      continue;
    record.outcome = Outcome::kWrongResult;
    record.reason = "edge problem: accuracy";
    drop_times(record);
  }
  return records;
}

Result<std::vector<FinalRecord>> FakeEvaluator::examine(
    const std::vector<Implementation>& contestants, const FinalPlan& plan) {
  if (on_progress) on_progress("verifying");
  auto records = finals(contestants, plan);
  for (FinalRecord& record : *records) {
    const Config* config = record.kernel.empty() ? nullptr : &contestants[0].candidate.config;
    const auto planned = config != nullptr && device_.fails ? device_.fails(*config) : std::nullopt;
    if (!planned || record.is_baseline()) continue;
    record.outcome = *planned;
    record.reason = "accuracy: planned " + std::string(name(*planned));
    drop_times(record);
  }
  return records;
}

FinalRecord FakeEvaluator::compete_from_elsewhere(const Implementation& contestant,
                                                  const FinalPlan& plan) const {
  FinalRecord record;
  record.impl = contestant.impl;
  record.role = contestant.role;
  record.problem = contestant.candidate.problem;
  const auto cost = device_.outside_us ? device_.outside_us(contestant.impl) : std::nullopt;
  if (!cost) {
    record.outcome = Outcome::kUnavailable;
    record.reason = "its library is not here; install it";
    return record;
  }
  record.hot_rounds_us = rounds_around(*cost, device_.final_noise, plan.rounds, 5);
  record.hot = final_timing(record.hot_rounds_us, plan);
  record.verification = passed_verification();
  return record;
}

FinalRecord FakeEvaluator::compete(const Implementation& contestant, const FinalPlan& plan) const {
  if (contestant.outside) return compete_from_elsewhere(contestant, plan);
  const Candidate& candidate = contestant.candidate;
  FinalRecord record;
  record.impl = contestant.impl;
  record.role = contestant.role;
  record.id = candidate_id(candidate, "fake");
  record.kernel = candidate.kernel->manifest.name;
  record.config = to_json(candidate.config);
  record.problem = candidate.problem;
  record.verification = passed_verification();
  record.resources = resources_for(candidate.config);
  if (plan.rounds == 0) return record;  // gates only
  const bool reference = candidate.kernel->manifest.role == Role::kReference;
  const double cost = reference ? 100.0 : cost_of(candidate);
  const std::size_t salt = std::accumulate(record.id.begin(), record.id.end(), std::size_t{0});
  record.hot_rounds_us = rounds_around(cost, device_.final_noise, plan.rounds, salt);
  record.cold_rounds_us = rounds_around(cost * 1.5, device_.final_noise, plan.rounds, salt);
  record.hot = final_timing(record.hot_rounds_us, plan);
  record.cold = final_timing(record.cold_rounds_us, plan);
  return record;
}

}  // namespace fatune::test
