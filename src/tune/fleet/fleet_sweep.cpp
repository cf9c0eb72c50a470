// fleet_sweep.cpp: Assigns problems to devices and collects their results into one run.
#include "tune/fleet/fleet_sweep.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/interrupt.hpp"
#include "core/log.hpp"
#include "core/text.hpp"
#include "tune/sweep/open_run.hpp"
#include "tune/sweep/problem_sweep.hpp"
#include "tune/sweep/shard_runs.hpp"

namespace fatune {
namespace {

class FleetSweep {
 public:
  FleetSweep(OpenRun run, ExecutorPool& pool)
      : run_(std::move(run)), pool_(pool), began_s_(pool.clock.now_s()), saver_(run_) {}

  Status recall_complete();
  void fill(FleetWork& work);
  Result<SweepResult> sweep();

 private:
  double now_s() const { return run_.journalled_s + pool_.clock.now_s() - began_s_; }
  RunClock clock_of(const Problem& problem) const;
  SweepPart lane_of(Evaluator& evaluator, const std::string& name, const Say& say);
  Result<std::string> journal_of(std::size_t part, const Environment& on) const;
  Status take_lines(std::size_t part, const FleetExecutor& by, const std::string& lines);
  Status take(std::size_t part, FleetExecutor& executor);
  void report(const FleetEvent& event);
  Status finish(Result<FleetResult> fleet);

  OpenRun run_;
  ExecutorPool& pool_;
  double began_s_;
  Saver saver_;
  std::vector<NamedProblem> parts_;
  std::map<std::size_t, std::string> began_on_;  ///< executor of the last begin record, by part
  std::mutex progress_;
  std::set<std::string> left_out_;  ///< names of devices
  std::size_t ended_ = 0;
};

Status FleetSweep::recall_complete() {
  for (const NamedProblem& problem : shard_problems(run_.result.plan)) {
    const bool settled = !run_.journal->finals(problem.problem).empty();
    if (settled && !run_.options.finals_only) {
      FATUNE_TRY(ProblemResult recalled,
                 recall_problem(problem, run_.result.plan.warm_starts, run_));
      if (!recalled.finals.empty()) {
        run_.take(std::move(recalled));
        continue;
      }
    }
    parts_.push_back(problem);
  }
  return {};
}

/// Continues the clock of a resumed problem at its last record, without the time since then.
RunClock FleetSweep::clock_of(const Problem& problem) const {
  const auto span = run_.journal->span(problem);
  RunClock clock(run_.options.clock, span ? span->last_s : now_s());
  if (!span) clock.go_live();
  return clock;
}

SweepPart FleetSweep::lane_of(Evaluator& evaluator, const std::string& name, const Say& say) {
  struct Lane {
    RunState state;
    Hooked hooked;
  };
  const std::shared_ptr<Lane> lane(new Lane{run_.state(&evaluator, RunClock({}, 0)), Hooked()});
  lane->hooked = hook(lane->state);
  lane->state.device = name;
  lane->state.progress = ProgressTracker(
      [this, say](const SweepProgress& now) {
        say(progress_words(now));
        const std::lock_guard lock(progress_);
        if (run_.options.on_progress) run_.options.on_progress(now);
      },
      parts_.size());
  return [this, lane](std::size_t part) -> Result<ProblemResult> {
    const NamedProblem& problem = parts_[part];
    lane->state.clock = clock_of(problem.problem);
    auto swept = sweep_problem(problem, run_.result.plan.warm_starts, lane->state);
    if (!swept)
      return with_context(std::move(swept).error(), "sweeping " + describe(problem.problem));
    return swept;
  };
}

void FleetSweep::fill(FleetWork& work) {
  work.lane = [this](Evaluator& evaluator, const std::string& name, const Say& say) {
    return lane_of(evaluator, name, say);
  };
  work.journal_of = [this](std::size_t part, const Environment& on) {
    return journal_of(part, on);
  };
  work.take_lines = [this](std::size_t part, const FleetExecutor& by, const std::string& lines) {
    return take_lines(part, by, lines);
  };
}

/// Writes the journal as that of a run that has only this problem.
Result<std::string> FleetSweep::journal_of(std::size_t part, const Environment& on) const {
  const Problem& problem = parts_[part].problem;
  const std::vector<NamedProblem>& all = run_.result.plan.problems;
  const auto place = static_cast<std::uint64_t>(
      std::ranges::find(all, problem, &NamedProblem::problem) - all.begin());
  Journal own;
  own.header = {run_.result.plan, on, {}, {}};
  own.header.plan.shard->number = place + 1;
  own.header.plan.shard->of = all.size();
  own.header.plan.shard->problems = {place};
  const auto span = run_.journal->span(problem);
  if (!span) return journal_text(own);
  FATUNE_TRY(const Journal whole, load_journal(run_.options.out / "journal.jsonl"));
  for (Record record : whole.records) {
    const Problem* const of = problem_of(record);
    if (of == nullptr || *of != problem || std::holds_alternative<BeginRecord>(record)) continue;
    if (double* const at_s = time_of(record)) *at_s = std::max(0.0, *at_s - span->begin_s);
    own.records.push_back(std::move(record));
  }
  return journal_text(own);
}

Status FleetSweep::take_lines(std::size_t part, const FleetExecutor& by, const std::string& lines) {
  JournalHeader header{run_.result.plan, run_.here, {}, {}};
  FATUNE_TRY(std::string text, journal_text({header, {}}));
  FATUNE_TRY(Journal journal, parse_journal(text.append(lines), by.name()));
  for (Record& record : journal.records) {
    if (std::holds_alternative<EndRecord>(record)) continue;
    if (std::string& executor = began_on_[part]; executor != by.name()) {
      executor = by.name();
      const BeginRecord begin{parts_[part].problem, by.name(), by.environment()->device_uuid};
      FATUNE_TRY_STATUS(run_.journal->append(begin, now_s()));
    }
    FATUNE_TRY_STATUS(run_.journal->append(std::move(record), now_s()));
  }
  return {};
}

Status FleetSweep::take(std::size_t part, FleetExecutor& executor) {
  std::optional<ProblemResult> swept = executor.take_result();
  if (!swept) {
    FATUNE_TRY(swept, recall_problem(parts_[part], run_.result.plan.warm_starts, run_));
  }
  run_.warn_of_absent(*swept);
  run_.take(*std::move(swept));
  run_.result.seconds = now_s();
  return saver_.save_in_time();
}

void FleetSweep::report(const FleetEvent& event) {
  const std::string where = event.member->name + ": ";
  const std::string problem = label(parts_[event.part]);
  if (!event.member->left_out && left_out_.erase(event.member->name) > 0)
    log::info(where + "what failed on it fails elsewhere, too; it goes on");
  switch (event.kind) {
    case FleetEvent::Kind::kBegins:
      return log::info(where + problem);
    case FleetEvent::Kind::kRuns:
      return log::info(where + event.said);
    case FleetEvent::Kind::kEnds:
      return log::info(fmt::format("{}{} ended after {:.0f} s; {} of {}", where, problem,
                                   event.part_s, ++ended_, parts_.size()));
    case FleetEvent::Kind::kFails:
      log::warn(fmt::format("{}{}: {}", where, problem, event.said));
      if (event.member->left_out && left_out_.insert(event.member->name).second)
        log::warn(where + "two problems in a row failed; it is left out");
  }
}

FleetTimeline timeline_of(const FleetResult& fleet, const std::vector<NamedProblem>& parts) {
  FleetTimeline timeline{fleet.seconds, {}};
  for (const FleetMember& member : fleet.members) {
    FleetWorker& worker = timeline.workers.emplace_back(FleetWorker{member.name, {}});
    for (const FleetStretch& each : member.work)
      worker.work.push_back({label(parts[each.part]), !each.ended, each.begin_s, each.end_s});
  }
  return timeline;
}

Result<SweepResult> FleetSweep::sweep() {
  FleetOptions options;
  for (const NamedProblem& part : parts_) options.costs.push_back(estimated_cost(part.problem));
  options.on_event = [this](const FleetEvent& event) { report(event); };
  options.take = [this](std::size_t part, FleetExecutor& executor) { return take(part, executor); };
  FATUNE_TRY_STATUS(finish(run_fleet(options, pool_)));
  return std::move(run_.result);
}

Status FleetSweep::finish(Result<FleetResult> fleet) {
  const bool stopped = !fleet && fleet.error().kind == ErrorKind::kInterrupted;
  run_.result.interrupted = stopped;
  if (fleet && !parts_.empty()) run_.result.fleet = timeline_of(*fleet, parts_);
  pool_.wait();
  for (const auto& executor : pool_.executors) {
    if (std::optional<ProblemResult> cut_off = executor->take_result(); cut_off && stopped)
      run_.take(*std::move(cut_off));
  }
  FATUNE_TRY_STATUS(keep_the_rest(run_, run_.result.plan.warm_starts));
  run_.result.seconds = parts_.empty() ? run_.journalled_s : now_s();
  if (!run_.result.problems.empty()) FATUNE_TRY_STATUS(saver_.save());
  if (!fleet && !stopped) return fleet.error();
  if (stopped || fleet->failed.empty()) return close_run(run_);
  for (const FailedPart& each : fleet->failed)
    log::error(label(parts_[each.part]) + ": " + each.reason);
  return device_error(fmt::format("{} of {} could not be swept; `fatune resume {}` sweeps the rest",
                                  fleet->failed.size(),
                                  counted(shard_problems(run_.result.plan).size(), "problem"),
                                  shell_word(run_.options.out.string())));
}

/// Returns the common environment of the open devices; an error if no device is open.
Result<Environment> common_environment(const ExecutorPool& pool) {
  std::optional<Environment> common;
  std::vector<MeasuringDevice> met;
  Status failure = environment_error("no device is here to measure on");
  for (const auto& executor : pool.executors) {
    const Environment* const own = executor->environment();
    if (own == nullptr) {
      failure = executor->failure();
      log::warn(executor->name() + " is left out: " + failure.error().message);
      continue;
    }
    const std::string why = refusal({executor->name(), *own}, met);
    if (!why.empty()) return usage_error(executor->name() + " is refused: " + why);
    met.push_back({executor->name(), *own});
    if (!common) common = *own;
    if (common->device_uuid != own->device_uuid) common->device_uuid.clear();
    if (common->host != own->host) common->host.clear();
  }
  if (!common) return failure.error();
  return *std::move(common);
}

}  // namespace

std::string refusal(const MeasuringDevice& now, const std::vector<MeasuringDevice>& before) {
  if (before.empty()) return "";
  const auto theirs = circumstances(before.front().environment);
  const auto own = circumstances(now.environment);
  for (std::size_t i = 0; i < own.size(); ++i) {
    if (own[i].second == theirs[i].second) continue;
    return fmt::format("its {} is {}, that of {} is {}", own[i].first, own[i].second,
                       before.front().name, theirs[i].second);
  }
  return "";
}

Result<Environment> gather(ExecutorPool& pool) {
  const auto opening = [](const auto& executor) { return executor->opening(); };
  const auto able = [](const auto& executor) { return executor->able(); };
  for (;; pool.clock.pause()) {
    if (interrupted()) return Error(ErrorKind::kInterrupted, "interrupted");
    FATUNE_TRY_STATUS(pool.pump());
    if (!pool.ready() || std::ranges::any_of(pool.executors, opening)) continue;
    if (std::ranges::any_of(pool.executors, able) || !pool.expects_more()) break;
  }
  return common_environment(pool);
}

Result<SweepResult> sweep_on_fleet(const SweepOptions& options,
                                   const std::vector<KernelRef>& kernels,
                                   const KernelRef& reference, const GatheredFleet& fleet) {
  FATUNE_TRY(OpenRun run, open_run(options, kernels, reference, fleet.environment, {}));
  FleetSweep sweep(std::move(run), fleet.pool);
  FATUNE_TRY_STATUS(sweep.recall_complete());
  sweep.fill(fleet.work);
  return sweep.sweep();
}

std::string progress_words(const SweepProgress& progress) {
  std::string words = fmt::format("{} {}/{}", progress.phase, progress.done, progress.all);
  if (progress.best_us) words += fmt::format(", best {:.2f} us", *progress.best_us);
  return words;
}

}  // namespace fatune
