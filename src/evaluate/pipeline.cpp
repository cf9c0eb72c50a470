// pipeline.cpp - the loop that keeps compilers and device busy at the same time.
#include "evaluate/pipeline.hpp"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>
#include <poll.h>

#include "base/check.hpp"
#include "base/hash.hpp"
#include "base/interrupt.hpp"
#include "evaluate/compiled_resources.hpp"

namespace fatune {
namespace {

constexpr int kTickMs = 150;  // how often progress is told while nothing happens

double seconds_between(std::chrono::steady_clock::time_point a,
                       std::chrono::steady_clock::time_point b) {
  return std::max(0.0, std::chrono::duration<double>(b - a).count());
}

CandidateRecord new_record(const Candidate& candidate, const std::string& id_options) {
  CandidateRecord record;
  record.id = candidate_id(candidate, id_options);
  record.key = candidate_key(candidate);
  record.kernel = candidate.kernel->manifest.name;
  record.config = to_json(candidate.config);
  record.problem = candidate.problem;
  return record;
}

/// What decides a run: equal machine code, launched equally, is one candidate.
std::string launch_key(const std::string& cubin_hash, const LaunchPlan& plan) {
  return Hasher().add(cubin_hash).add(dump(to_json(plan))).hex();
}

void copy_result(const CandidateRecord& original, CandidateRecord& record) {
  record.outcome = Outcome::kDuplicate;
  record.duplicate_of = original.id;
  record.reason = "same machine code and launch as " + original.id;
  if (original.outcome != Outcome::kMeasured)
    record.reason += ", which is " + std::string(name(original.outcome));
  record.hot = original.hot;
  record.cold = original.cold;
  record.verification = original.verification;
  record.resources = original.resources;
  record.conditions = original.conditions;
}

}  // namespace

Pipeline::Pipeline(CompileService& compiler, DeviceWorker& worker, DeviceLimits limits,
                   std::string id_options, PipelineEvents events)
    : compiler_(compiler),
      worker_(worker),
      limits_(std::move(limits)),
      id_options_(std::move(id_options)),
      events_(std::move(events)),
      idle_since_(Clock::now()) {}

void Pipeline::begin(const EvaluationPlan& plan) {
  FATUNE_CHECK(entries_.empty(), "a problem begins when everything of the one before is collected");
  plan_ = plan;
  by_launch_.clear();
  best_us_.clear();
  idle_since_ = Clock::now();
}

void Pipeline::remember(const Candidate& candidate, const CandidateRecord& record) {
  note_best(record);
  if (record.cubin.empty() || record.outcome == Outcome::kDuplicate) return;
  const auto plan = launch_plan(candidate, limits_);
  if (plan) by_launch_.emplace(launch_key(record.cubin, *plan), record);
}

Status Pipeline::submit(const Candidate& candidate) {
  Entry entry;
  entry.record = new_record(candidate, id_options_);
  entry.submitted = Clock::now();
  FATUNE_TRY(std::string reason,
             unsupported_reason(candidate.kernel->manifest, candidate.problem, limits_));
  if (reason.empty()) {
    FATUNE_TRY(reason, infeasible_reason(candidate, limits_));
  }
  if (reason.empty()) {
    FATUNE_TRY(entry.plan, launch_plan(candidate, limits_));
    entry.ticket = compiler_.submit(compile_request(candidate, limits_));
  } else {
    entry.record.outcome = Outcome::kInfeasible;
    entry.record.reason = std::move(reason);
    entry.state = State::kDone;
  }
  entries_.push_back(std::move(entry));
  absorb_compiled();
  return dispatch();
}

void Pipeline::absorb_compiled() {
  for (Entry& entry : entries_) {
    if (entry.state != State::kCompiling || !compiler_.ready(entry.ticket)) continue;
    entry.compiled = compiler_.take(entry.ticket);
    entry.record.spent.compile_s = entry.compiled.from_cache ? 0 : entry.compiled.seconds;
    entry.ready = Clock::now();
    entry.state = State::kReady;
    if (entry.compiled.ok) {
      entry.record.cubin = entry.compiled.cubin_hash;
      continue;
    }
    entry.record.outcome = Outcome::kCompileError;
    entry.record.reason = entry.compiled.problem;
    entry.state = State::kDone;
  }
}

/// A candidate whose machine code has run before needs no device.
bool Pipeline::settle_without_device(Entry& entry) {
  const auto known = by_launch_.find(launch_key(entry.compiled.cubin_hash, entry.plan));
  if (known == by_launch_.end()) return false;
  copy_result(known->second, entry.record);
  entry.state = State::kDone;
  return true;
}

RunOrder Pipeline::order_for(const Entry& entry) const {
  RunOrder order;
  order.id = entry.record.id;
  order.program = {entry.compiled.cubin_path.string(), entry.plan};
  order.verify = plan_.checks == Checks::kAll;
  order.cold = plan_.record_cold || plan_.objective == Objective::kCold;
  const auto best = best_us_.find(entry.record.kernel);
  if (best == best_us_.end()) return order;
  if (plan_.objective == Objective::kHot) order.best_hot_us = best->second;
  if (plan_.objective == Objective::kCold) order.best_cold_us = best->second;
  return order;
}

/// Gives the next candidate to an idle device. An earlier one that still compiles holds up those
/// behind it.
Status Pipeline::dispatch() {
  if (worker_.busy()) return {};
  for (Entry& entry : entries_) {
    if (entry.state == State::kDone) continue;
    if (entry.state == State::kCompiling || interrupted()) return {};
    if (settle_without_device(entry)) continue;
    if (events_.started) FATUNE_TRY_STATUS(events_.started({entry.record.id, entry.record.key}));
    entry.record.spent.gpu_wait_s =
        seconds_between(std::max(idle_since_, entry.submitted), entry.ready);
    FATUNE_TRY_STATUS(worker_.start_run(order_for(entry), events_.progress));
    entry.state = State::kRunning;
    return {};
  }
  return {};
}

Status Pipeline::absorb_run() {
  const auto running = std::find_if(entries_.begin(), entries_.end(), [](const Entry& entry) {
    return entry.state == State::kRunning;
  });
  if (running == entries_.end()) return {};
  FATUNE_TRY(std::optional<RunReply> reply, worker_.finish(events_.progress));
  if (!reply) return {};
  CandidateRecord& record = running->record;
  record.outcome = reply->outcome;
  record.reason = std::move(reply->reason);
  record.hot = std::move(reply->hot);
  record.cold = std::move(reply->cold);
  record.verification = std::move(reply->verification);
  record.resources =
      with_compiler_log(std::move(reply->resources), running->compiled, running->plan);
  record.conditions = std::move(reply->conditions);
  record.spent.verify_s = reply->verify_s;
  record.spent.timing_s = reply->timing_s;
  running->state = State::kDone;
  idle_since_ = Clock::now();
  by_launch_.emplace(launch_key(running->compiled.cubin_hash, running->plan), record);
  note_best(record);
  return {};
}

void Pipeline::note_best(const CandidateRecord& record) {
  const auto& timing = plan_.objective == Objective::kHot ? record.hot : record.cold;
  if (record.outcome != Outcome::kMeasured || !timing) return;
  const auto [best, first] = best_us_.emplace(record.kernel, timing->median_us);
  if (!first) best->second = std::min(best->second, timing->median_us);
}

void Pipeline::wait_for_events() {
  std::vector<pollfd> wanted;
  for (const int descriptor : compiler_.descriptors()) wanted.push_back({descriptor, POLLIN, 0});
  if (worker_.busy()) wanted.push_back({worker_.descriptor(), POLLIN, 0});
  // An interrupted or failed poll only means that the loop looks earlier.
  ::poll(wanted.data(), static_cast<nfds_t>(wanted.size()), kTickMs);
}

Status Pipeline::step() {
  wait_for_events();
  FATUNE_TRY_STATUS(compiler_.pump(std::chrono::milliseconds(0)));
  absorb_compiled();
  FATUNE_TRY_STATUS(absorb_run());
  FATUNE_TRY_STATUS(dispatch());
  if (events_.progress) events_.progress(worker_.busy() ? "" : "compiling");
  return {};
}

Result<CandidateRecord> Pipeline::collect() {
  FATUNE_CHECK(!entries_.empty(), "only what was submitted can be collected");
  absorb_compiled();
  FATUNE_TRY_STATUS(dispatch());
  while (entries_.front().state != State::kDone) {
    if (interrupted() && entries_.front().state != State::kRunning) {
      return Error{ErrorKind::kInterrupted, "interrupted before the candidate ran"};
    }
    FATUNE_TRY_STATUS(step());
  }
  CandidateRecord record = std::move(entries_.front().record);
  entries_.pop_front();
  return record;
}

}  // namespace fatune
