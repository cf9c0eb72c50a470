// final_phase.cpp: Verifies contestants on the main and edge problems, then times them in rounds.
#include "tune/evaluate/final_phase.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/interrupt.hpp"
#include "core/log.hpp"
#include "core/parallel.hpp"
#include "core/text.hpp"
#include "model/results/statistics.hpp"
#include "model/space/rules.hpp"
#include "tune/evaluate/forecast.hpp"

namespace fatune {
namespace {

constexpr double kPreciseRatio = 2;  // chosen: ratio of error margins that is worth a note
constexpr std::chrono::milliseconds kCompilePause{100};  // chosen: period of progress notes

Timing summary_of(const std::vector<double>& rounds_us, std::int64_t launches, std::uint64_t seed) {
  Timing timing = summarize(rounds_us, launches);
  const Interval interval = bootstrap_median(rounds_us, kResamples, seed);
  timing.ci95_low_us = interval.low;
  timing.ci95_high_us = interval.high;
  return timing;
}

/// Applies the gates of timed launches to the samples of the rounds.
void add_gates(const RoundsRow& row, Verification& verification) {
  verification.gates.insert(verification.gates.end(), row.gates.begin(), row.gates.end());
  verification.not_run.insert(verification.not_run.end(), row.not_run.begin(), row.not_run.end());
  if (row.outcome == Outcome::kWrongResult) verification.passed = false;
}

/// Drops the times of a contestant that fails after its rounds.
void drop_results(FinalRecord& record) {
  drop_times(record);
  if (record.verification) record.verification->passed = false;
}

/// Marks configs whose error margin is far above that of their kernel's default config, because
/// they may compute with less precision.
void note_precision(std::vector<FinalRecord>& records) {
  for (const FinalRecord& usual : records) {
    if (usual.role != RowRole::kDefault || !usual.verification || usual.verification->margin <= 0)
      continue;
    for (FinalRecord& record : records) {
      if (record.kernel != usual.kernel || !record.verification) continue;
      const double ratio = record.verification->margin / usual.verification->margin;
      if (ratio <= kPreciseRatio) continue;
      record.verification->precision_note = "margin " + fixed(record.verification->margin, 2) +
                                            ", the default config's is " +
                                            fixed(usual.verification->margin, 2);
    }
  }
}

}  // namespace

FinalPhase::FinalPhase(const FinalSetting& setting, const Problem& problem, const FinalPlan& plan)
    : setting_(setting), problem_(problem), plan_(plan), seed_(setting.run.seed) {
  progress_ = [this](std::string_view phase) {
    // An error shows again when the result is awaited.
    static_cast<void>(setting_.compiler.pump(std::chrono::milliseconds(0)));
    if (setting_.progress) setting_.progress(phase);
  };
}

Result<FinalPhase::Stage> FinalPhase::request_stage(const Problem& problem,
                                                    std::vector<InputCase> cases,
                                                    const Places& contestants) {
  Stage stage;
  FATUNE_TRY(stage.pending,
             request_problem(setting_.compiler, setting_.preparation, problem, std::move(cases)));
  for (const std::size_t index : contestants) FATUNE_TRY_STATUS(request_build(index, stage));
  return stage;
}

/// Adds no build if the contestant's config is not possible on the problem.
Status FinalPhase::request_build(std::size_t index, Stage& stage) {
  const DeviceLimits& limits = setting_.preparation.limits;
  const Problem& problem = stage.pending.problem;
  const Implementation& contestant = contestants_[index];
  if (contestant.outside) {
    stage.builds.push_back({index, std::nullopt, {}});
    return {};
  }
  Candidate candidate = contestant.candidate;
  candidate.problem = problem;
  FATUNE_TRY(const std::string reason, impossible_reason(candidate, limits));
  if (!reason.empty()) {
    note_infeasible(index, problem, reason);
    return {};
  }
  Build build;
  build.index = index;
  FATUNE_TRY(build.plan, launch_plan(candidate, limits));
  if (!(problem == problem_)) accept_shorter_lists(build.plan);
  build.ticket = setting_.compiler.submit(compile_request(candidate, limits));
  stage.builds.push_back(std::move(build));
  return {};
}

/// Fails a contestant that the main problem rules out, and skips an edge problem that the
/// contestant's config does not support.
void FinalPhase::note_infeasible(std::size_t index, const Problem& problem,
                                 const std::string& reason) {
  FinalRecord& record = records_[index];
  if (problem == problem_) {
    record.outcome = Outcome::kInfeasible;
    record.reason = reason;
    return;
  }
  log::debug(describe(problem) + " is skipped for " + dump(record.config) + ": " + reason);
}

void FinalPhase::note_compile_error(const Build& build, const Compiled& compiled,
                                    const std::string& where) {
  records_[build.index].outcome = Outcome::kCompileError;
  records_[build.index].reason = where + compiled.problem;
}

Status FinalPhase::check_one(const Build& build, const std::optional<Compiled>& compiled,
                             const std::string& label) {
  FinalRecord& record = records_[build.index];
  const std::string where = label.empty() ? "" : kEdgeProblem + label + ": ";
  if (compiled && !compiled->ok) {
    note_compile_error(build, *compiled, where);
    if (!label.empty()) drop_results(record);
    return {};
  }
  RunOrder order;
  order.id = record.id.empty() ? record.impl : record.id;
  order.program.outside = contestants_[build.index].outside;
  if (compiled) order.program = {compiled->cubin_path.string(), build.plan, {}};
  order.verify = !setting_.run.skip_correctness;
  order.hot = order.cold = false;
  FATUNE_TRY(RunReply reply, setting_.worker.run(order, progress_));
  if (!reply.regions.empty() && setting_.errors) setting_.errors(record.id, reply.regions);
  record.outcome = reply.outcome;
  record.reason = reply.outcome == Outcome::kMeasured ? "" : where + reply.reason;
  if (!label.empty()) {
    if (!alive(build.index)) drop_results(record);  // the contestant failed after the rounds
    ++edges_checked_[build.index];
    return {};
  }
  programs_[build.index] = order.program;
  record.detail = std::move(reply.detail);
  record.verification = std::move(reply.verification);
  if (compiled)
    record.resources = with_compiler_log(std::move(reply.resources), *compiled, build.plan);
  return {};
}

Status FinalPhase::begin(Stage& stage) {
  begun_ = &stage;
  if (!stage.order) {
    FATUNE_TRY(stage.order, finish_problem(setting_.compiler, setting_.preparation, stage.pending));
  }
  return setting_.worker.begin(*stage.order, progress_);
}

/// Runs a contestant on the current problem, unless it has failed before.
Status FinalPhase::check_build(const Build& build, const std::string& label) {
  if (interrupted()) return Error{ErrorKind::kInterrupted, "interrupted in the final phase"};
  std::optional<Compiled> compiled = build.compiled;
  if (build.ticket && !compiled) {
    FATUNE_TRY(compiled, wait_for(setting_.compiler, *build.ticket));
  }
  return alive(build.index) ? check_one(build, compiled, label) : Status();
}

/// `label` names an edge problem; empty for the main problem.
Status FinalPhase::check_stage(Stage& stage, const std::string& label) {
  FATUNE_TRY_STATUS(begin(stage));
  return check_builds(stage, label);
}

/// Checks the contestants of the current stage.
Status FinalPhase::check_builds(Stage& stage, const std::string& label) {
  while (!stage.builds.empty()) {
    const Build build = std::move(stage.builds.front());
    stage.builds.erase(stage.builds.begin());
    FATUNE_TRY_STATUS(check_build(build, label));
  }
  return {};
}

void FinalPhase::take_times(std::vector<double>& rounds_us, std::int64_t launches,
                            std::optional<Timing>& timing, std::vector<double>& kept) const {
  if (rounds_us.empty()) return;
  timing = summary_of(rounds_us, launches, plan_.seed);
  kept = std::move(rounds_us);
}

FinalPhase::Places FinalPhase::survivors() const {
  Places places;
  for (std::size_t i = 0; i < records_.size(); ++i) {
    if (alive(i) && programs_[i]) places.push_back(i);
  }
  return places;
}

/// Times contestants; the last rounds decide times and gates of timed launches.
Status FinalPhase::time(const Places& contestants, bool again) {
  RoundsOrder order;
  order.rounds = plan_.rounds;
  order.launches_per_round = plan_.launches_per_round;
  order.seed = plan_.seed + (again ? 1 : 0);
  order.verify = !setting_.run.skip_correctness;
  order.in_layer = !problem_.custom;
  for (const std::size_t index : contestants) order.contestants.push_back(*programs_[index]);
  if (contestants.empty() || plan_.rounds == 0) return {};
  FATUNE_TRY(RoundsReply reply, setting_.worker.rounds(order, progress_));
  if (reply.rows.size() != contestants.size())
    return device_error("the device worker's rounds do not match the contestants");
  if (!reply.layer_note.empty()) log::info(describe(problem_) + ": " + reply.layer_note);
  // Each contestant has a record and four confidence intervals to compute.
  parallel_for(contestants.size(), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) take_row(contestants[i], reply.rows[i], again);
  });
  return {};
}

void FinalPhase::take_row(std::size_t index, RoundsRow& row, bool again) {
  FinalRecord& record = records_[index];
  record.outcome = row.outcome;
  record.reason = row.reason;
  if (!row.detail.empty()) record.detail = row.detail;
  record.conditions = row.conditions;
  std::optional<Verification>& before = before_rounds_[index];
  if (again) {
    record.verification = before;
  } else {
    before = record.verification;
  }
  if (record.verification) add_gates(row, *record.verification);
  drop_times(record);
  if (row.outcome != Outcome::kMeasured || row.hot_us.empty()) return;
  take_times(row.hot_us, row.hot_launches, record.hot, record.hot_rounds_us);
  take_times(row.plain_us, row.hot_launches, record.plain, record.plain_rounds_us);
  take_times(row.in_layer_us, 1, record.in_layer, record.in_layer_rounds_us);
  take_times(row.cold_us, 1, record.cold, record.cold_rounds_us);
  record.timed_again = again;
}

void FinalPhase::describe_contestants(std::size_t first, std::size_t end) {
  programs_.resize(end);
  before_rounds_.resize(end);
  edges_checked_.resize(end);
  for (std::size_t index = first; index < end; ++index) {
    const Implementation& contestant = contestants_[index];
    FinalRecord record;
    record.impl = contestant.impl;
    record.role = contestant.role;
    record.problem = problem_;
    if (contestant.candidate.kernel) {
      record.id = setting_.id_of(contestant.candidate);
      record.kernel = contestant.candidate.kernel->manifest.name;
      record.config = to_json(contestant.candidate.config);
    }
    records_.push_back(std::move(record));
  }
}

std::vector<InputCase> FinalPhase::main_cases() const {
  if (setting_.run.skip_correctness) return search_cases(problem_, seed_);
  return final_cases(*setting_.preparation.reference->manifest.operation, problem_, seed_);
}

/// Removes contestants that do not compile from the stage.
Status FinalPhase::finish_builds(Stage& stage) {
  for (Build& build : stage.builds) {
    if (!build.ticket) continue;
    while (!setting_.compiler.ready(*build.ticket)) {
      FATUNE_TRY_STATUS(setting_.compiler.pump(kCompilePause));
      progress_("compiling");
    }
    build.compiled = setting_.compiler.take(*build.ticket);
    if (!build.compiled->ok) note_compile_error(build, *build.compiled, "");
  }
  std::erase_if(stage.builds,
                [](const Build& build) { return build.compiled && !build.compiled->ok; });
  return {};
}

/// Draws the inputs after all compilations, so that machine code cannot contain the inputs.
Status FinalPhase::draw_seed(Stage& main) {
  FATUNE_TRY_STATUS(finish_builds(main));
  seed_ = unknown_seed();
  main.pending.cases = main_cases();
  return {};
}

Result<std::vector<FinalRecord>> FinalPhase::run(const std::vector<Implementation>& contestants) {
  contestants_ = contestants;
  contestants_.insert(contestants_.end(), plan_.reserves.begin(), plan_.reserves.end());
  describe_contestants(0, contestants.size());
  FATUNE_TRY_STATUS(setting_.worker.prepare({problem_, outside_programs(contestants)}));
  const bool checks = !setting_.run.skip_correctness;
  Places everyone(contestants.size());
  std::iota(everyone.begin(), everyone.end(), 0);
  const Places at_edges = candidates_for_edges();
  // Submits all compilations first. Edge problems compile while contestants are checked and timed
  // on the main problem.
  FATUNE_TRY(Stage main, request_stage(problem_, main_cases(), everyone));
  if (plan_.secret_inputs) FATUNE_TRY_STATUS(draw_seed(main));
  if (main.builds.empty()) {
    cancel(main);
    return std::move(records_);
  }
  std::vector<Stage> edges;
  if (plan_.edge_problems && checks && !at_edges.empty()) {
    FATUNE_TRY(edges, request_edges(at_edges));
  }
  const Status contested = contest(main, edges);
  for (const Stage& stage : edges) cancel(stage);
  if (!contested) return Error(contested.error());
  return std::move(records_);
}

/// Whether every finalist of the reserves' kernel was refused.
bool FinalPhase::needs_reserves() const {
  if (plan_.reserves.empty()) return false;
  return std::ranges::none_of(records_, [&](const FinalRecord& record) {
    const bool finalist =
        record.role == RowRole::kFinalist && record.impl == plan_.reserves.front().impl;
    return finalist && record.outcome == Outcome::kMeasured;
  });
}

Status FinalPhase::call_reserves(Stage& main) {
  const std::size_t first = records_.size();
  log::info(fmt::format("{}: every finalist of {} was refused; {} that differ from them take part",
                        describe(problem_), plan_.reserves.front().impl, plan_.reserves.size()));
  describe_contestants(first, contestants_.size());
  for (std::size_t index = first; index < contestants_.size(); ++index)
    FATUNE_TRY_STATUS(request_build(index, main));
  return check_builds(main, "");
}

Status FinalPhase::contest(Stage& main, std::vector<Stage>& edges) {
  FATUNE_TRY_STATUS(check_stage(main, ""));
  if (needs_reserves()) FATUNE_TRY_STATUS(call_reserves(main));
  note_precision(records_);
  FATUNE_TRY_STATUS(time(survivors(), false));
  return plan_.winner ? settle_winner(main, edges) : check_edges(edges);
}

/// Cancels the compilations of a stage that nothing awaits.
void FinalPhase::cancel(const Stage& stage) {
  for (const Build& build : stage.builds) {
    if (build.ticket && !build.compiled) setting_.compiler.cancel(*build.ticket);
  }
  if (!stage.order) cancel_problem(setting_.compiler, stage.pending);
}

}  // namespace fatune
