// pipeline.cpp: Keeps compilers and devices busy at the same time.
#include "tune/evaluate/pipeline.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <poll.h>

#include "core/fields.hpp"
#include "core/hash.hpp"
#include "core/interrupt.hpp"
#include "core/log.hpp"
#include "core/result.hpp"
#include "model/results/sweep_result.hpp"
#include "tune/evaluate/forecast.hpp"

namespace fatune {
namespace {

constexpr int kTickMs = 150;  // chosen: period of progress reports while nothing happens

double seconds_between(std::chrono::steady_clock::time_point a,
                       std::chrono::steady_clock::time_point b) {
  return std::max(0.0, std::chrono::duration<double>(b - a).count());
}

/// Returns the key of a run: candidates with equal machine code and launch are duplicates.
std::string launch_key(const std::string& cubin_hash, const LaunchPlan& plan) {
  return Hasher().add(cubin_hash).add(dump(to_json(plan))).hex();
}

void copy_result(const CandidateRecord& original, CandidateRecord& record) {
  static_cast<Observation&>(record) = static_cast<const Observation&>(original);
  record.measured_on = original.measured_on;
  record.outcome = Outcome::kDuplicate;
  record.duplicate_of = original.id;
  record.reason = "same machine code and launch as " + original.id;
  if (original.outcome != Outcome::kMeasured)
    record.reason += ", which is " + std::string(name(original.outcome));
}

}  // namespace

CompileAhead::CompileAhead(CompileService& compiler, DeviceLimits limits)
    : compiler_(compiler), limits_(std::move(limits)) {}

void CompileAhead::want(std::vector<Candidate> likely) {
  std::reverse(likely.begin(), likely.end());
  wanted_ = std::move(likely);
}

Status CompileAhead::begin(std::size_t keep_free) {
  const std::size_t before = begun_;
  while (!wanted_.empty() && compiler_.idle() > keep_free) {
    const Candidate candidate = std::move(wanted_.back());
    wanted_.pop_back();
    const std::string key = candidate_key(candidate);
    if (tickets_.contains(key)) continue;
    tickets_[key] = compiler_.submit(compile_request(candidate, limits_));
    ++begun_;
  }
  return begun_ == before ? Status() : compiler_.pump(std::chrono::milliseconds(0));
}

std::optional<Ticket> CompileAhead::claim(const std::string& key) {
  std::erase_if(wanted_,
                [&](const Candidate& candidate) { return candidate_key(candidate) == key; });
  const auto found = tickets_.extract(key);
  if (found.empty()) return std::nullopt;
  ++claimed_;
  return found.mapped();
}

void CompileAhead::clear() {
  for (const auto& [key, ticket] : tickets_) compiler_.cancel(ticket);
  tickets_.clear();
  wanted_.clear();
  begun_ = claimed_ = 0;
}

Pipeline::Pipeline(CompileService& compiler, DeviceTeam& team, DeviceLimits limits, IdOf id_of,
                   PipelineEvents events)
    : compiler_(compiler),
      team_(team),
      limits_(std::move(limits)),
      id_of_(std::move(id_of)),
      events_(std::move(events)),
      ahead_(compiler, limits_) {}

void Pipeline::begin(const RunPlan& plan) {
  FATUNE_CHECK(entries_.empty(), "a problem begins when everything of the one before is collected");
  end_preparations();
  plan_ = plan;
  rules_.clear();
  results_.clear();
  originals_.clear();
  best_us_.clear();
}

void Pipeline::abandon() {
  for (const Entry& entry : entries_) {
    FATUNE_CHECK(entry.state != State::kRunning, "nothing runs before a problem has begun");
    if (entry.state == State::kCompiling) compiler_.cancel(entry.ticket);
  }
  entries_.clear();
  end_preparations();
}

void Pipeline::remember(const Candidate& candidate, const CandidateRecord& record) {
  note_best(record.kernel, record);
  if (record.cubin.empty() || record.outcome == Outcome::kDuplicate) return;
  const auto plan = launch_plan(candidate, limits_);
  if (plan) originals_.emplace(launch_key(record.cubin, *plan), record);
}

Result<std::string> Pipeline::reason_against(const Candidate& candidate) {
  const Manifest& manifest = candidate.kernel->manifest;
  FATUNE_TRY(std::string reason, unsupported_reason(manifest, candidate.problem, limits_));
  if (!reason.empty()) return reason;
  auto rules = rules_.find(manifest.name);
  if (rules == rules_.end()) {
    FATUNE_TRY(Feasibility compiled,
               Feasibility::make(candidate.kernel, candidate.problem, limits_));
    rules = rules_.emplace(manifest.name, std::move(compiled)).first;
  }
  return rules->second.broken(candidate.config);
}

Status Pipeline::submit(const Candidate& candidate) {
  Entry entry;
  entry.number = ++submitted_;
  entry.record = new_record(candidate, id_of_(candidate));
  entry.submitted = Clock::now();
  entry.usual = entry.record.config == to_json(default_config(candidate.kernel->manifest));
  FATUNE_TRY(std::string reason, reason_against(candidate));
  if (reason.empty()) {
    FATUNE_TRY(entry.plan, launch_plan(candidate, limits_));
    const std::optional<Ticket> begun = ahead_.claim(entry.record.key);
    entry.ticket = begun ? *begun : compiler_.submit(compile_request(candidate, limits_));
    // An idle compiler begins now, not at the next event.
    FATUNE_TRY_STATUS(compiler_.pump(std::chrono::milliseconds(0)));
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
    entry.record.spent.compiler = entry.compiled.process;
    entry.ready = entry.compiled.process ? entry.compiled.ended : Clock::now();
    entry.state = State::kReady;
    if (!entry.compiled.ok) {
      entry.record.outcome = Outcome::kCompileError;
      entry.record.reason = entry.compiled.problem;
      entry.state = State::kDone;
      continue;
    }
    entry.record.cubin = entry.compiled.cubin_hash;
    std::string reason = entry.usual ? "" : hopeless_reason(entry.compiled);
    if (reason.empty()) {
      entry.launch = launch_key(entry.record.cubin, entry.plan);
      continue;
    }
    entry.record.outcome = Outcome::kPruned;
    entry.record.reason = std::move(reason);
    entry.record.resources = with_compiler_log(std::nullopt, entry.compiled, entry.plan);
    entry.state = State::kDone;
  }
}

RunOrder Pipeline::order_for(const Entry& entry) const {
  RunOrder order;
  order.id = entry.record.id;
  order.program = {entry.compiled.cubin_path.string(), entry.plan};
  order.verify = !plan_.skip_correctness;
  order.cold = plan_.record_cold || searches_cold();
  order.in_layer = plan_.objective == Objective::kInLayer && entry.record.problem.attention();
  const auto best = best_us_.find(entry.record.kernel);
  if (best != best_us_.end())
    (searches_cold() ? order.best_cold_us : order.best_hot_us) = best->second;
  return order;
}

/// Starts a candidate on a device; false if the device was left out.
Result<bool> Pipeline::start(Entry& entry, std::size_t device) {
  if (events_.started) FATUNE_TRY_STATUS(events_.started(started(entry.record)));
  FATUNE_TRY(const bool runs, team_.start_run(device, order_for(entry), events_.progress));
  if (!runs) return false;
  entry.record.spent.gpu_wait_s =
      seconds_between(std::max(team_.free_since(device), entry.submitted), entry.ready);
  entry.device = device;
  entry.state = State::kRunning;
  furthest_ = std::max(furthest_, entry.number);
  return true;
}

/// Gives the oldest compiled candidates to idle devices, except duplicates of measured or running
/// ones. After an interrupt only candidates older than one that has reached a device continue.
Status Pipeline::dispatch() {
  std::set<std::string> running;
  for (const Entry& entry : entries_) {
    if (entry.state == State::kRunning) running.insert(entry.launch);
  }
  for (Entry& entry : entries_) {
    if (entry.state != State::kReady || running.contains(entry.launch)) continue;
    if (results_.contains(entry.launch) || originals_.contains(entry.launch)) {
      entry.state = State::kDone;
      continue;
    }
    if (interrupted() && entry.number > furthest_) return {};
    for (bool runs = false; !runs;) {
      const std::optional<std::size_t> device = team_.idle();
      if (!device) return {};
      FATUNE_TRY(runs, start(entry, *device));
    }
    running.insert(entry.launch);
  }
  return {};
}

Status Pipeline::absorb_runs() {
  for (;;) {
    FATUNE_TRY(std::optional<DeviceTeam::Answer> answer, team_.finish(events_.progress));
    if (!answer) return {};
    FATUNE_TRY_STATUS(absorb_run(*std::move(answer)));
  }
}

Status Pipeline::absorb_run(DeviceTeam::Answer answer) {
  const auto running = std::ranges::find_if(entries_, [&](const Entry& entry) {
    return entry.state == State::kRunning && entry.device == answer.device;
  });
  FATUNE_CHECK(running != entries_.end(), "a device answers for the candidate that it has");
  if (!answer.reply) {
    running->state = State::kReady;
    return {};
  }
  answer.reply->resources =
      with_compiler_log(std::move(answer.reply->resources), running->compiled, running->plan);
  running->state = State::kDone;
  running->record.spent.ready_s = seconds_between(running->ready, Clock::now());
  note_best(running->record.kernel, *answer.reply);
  results_.emplace(running->launch, Ran{*std::move(answer.reply), std::move(answer.measured_on)});
  const bool its_turn = running == entries_.begin();
  return its_turn || !events_.early_result ? Status() : events_.early_result(with_result(*running));
}

CandidateRecord Pipeline::with_result(const Entry& entry) const {
  CandidateRecord record = entry.record;
  const auto& [reply, on] = results_.at(entry.launch);
  static_cast<Observation&>(record) = static_cast<const Observation&>(reply);
  record.measured_on = on;
  record.spent.verify_s = reply.verify_s;
  record.spent.timing_s = reply.timing_s;
  return record;
}

/// Fills the record of a finished candidate. The first submitted one of equal machine code gets the
/// result, whichever of them ran.
void Pipeline::conclude(Entry& entry) {
  if (entry.launch.empty()) return;
  if (const auto original = originals_.find(entry.launch); original != originals_.end()) {
    copy_result(original->second, entry.record);
    return;
  }
  entry.record = with_result(entry);
  originals_.emplace(entry.launch, entry.record);
}

void Pipeline::note_best(const std::string& kernel, const Observation& seen) {
  const auto& timing = searches_cold() ? seen.cold : seen.hot;
  if (seen.outcome != Outcome::kMeasured || !timing) return;
  const auto [best, first] = best_us_.emplace(kernel, timing->median_us);
  if (!first) best->second = std::min(best->second, timing->median_us);
}

void Pipeline::wait_for_events() {
  std::vector<pollfd> wanted = team_.descriptors();
  for (const int descriptor : compiler_.descriptors()) wanted.push_back({descriptor, POLLIN, 0});
  // After an interrupted or failed poll the loop merely looks earlier.
  ::poll(wanted.data(), static_cast<nfds_t>(wanted.size()), kTickMs);
}

void Pipeline::end_preparations() {
  if (ahead_.begun() > 0) {
    log::debug(fmt::format("compiled ahead: {} candidates, of which {} were submitted later",
                           ahead_.begun(), ahead_.claimed()));
  }
  ahead_.clear();
}

/// Keeps a process free per compiled candidate, each of which may soon make room for a new one.
Status Pipeline::compile_ahead() {
  if (interrupted()) return {};
  const auto compiled = std::count_if(entries_.begin(), entries_.end(), [](const Entry& entry) {
    return entry.state != State::kCompiling;
  });
  return ahead_.begin(static_cast<std::size_t>(compiled));
}

Status Pipeline::step() {
  FATUNE_TRY_STATUS(compile_ahead());
  wait_for_events();
  FATUNE_TRY_STATUS(compiler_.pump(std::chrono::milliseconds(0)));
  absorb_compiled();
  FATUNE_TRY_STATUS(absorb_runs());
  FATUNE_TRY_STATUS(dispatch());
  if (events_.progress) events_.progress(team_.busy() ? "" : "compiling");
  return {};
}

Result<CandidateRecord> Pipeline::collect() {
  FATUNE_CHECK(!entries_.empty(), "only what was submitted can be collected");
  absorb_compiled();
  FATUNE_TRY_STATUS(dispatch());
  while (entries_.front().state != State::kDone) {
    if (interrupted() && entries_.front().number > furthest_) {
      return Error{ErrorKind::kInterrupted, "interrupted before the candidate ran"};
    }
    FATUNE_TRY_STATUS(step());
  }
  conclude(entries_.front());
  CandidateRecord record = std::move(entries_.front().record);
  const bool compiled = record.outcome != Outcome::kInfeasible;
  if (compiled && record.spent.ready_s == 0)  // the device did not run it
    record.spent.ready_s = seconds_between(entries_.front().ready, Clock::now());
  entries_.pop_front();
  return record;
}

}  // namespace fatune
