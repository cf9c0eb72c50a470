// final_stages.cpp: Submits builds, waits for them, and asks the device worker for verdicts.
#include "tune/evaluate/final_stages.hpp"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/interrupt.hpp"
#include "core/log.hpp"
#include "model/space/rules.hpp"
#include "tune/evaluate/forecast.hpp"

namespace fatune {
namespace {

constexpr std::chrono::milliseconds kCompilePause{100};  // chosen: period of progress notes

/// Drops the times of a contestant that fails after its rounds.
void drop_results(FinalRecord& record) {
  drop_times(record);
  if (record.verification) record.verification->passed = false;
}

Note pumping_note(const FinalSetting& setting) {
  return [&setting](std::string_view phase) {
    // An error shows again when the result is awaited.
    static_cast<void>(setting.compiler.pump(std::chrono::milliseconds(0)));
    if (setting.progress) setting.progress(phase);
  };
}

}  // namespace

bool Stage::has(std::size_t index) const {
  return std::ranges::find(builds, index, &Build::index) != builds.end();
}

FinalStages::FinalStages(const FinalSetting& phase, const Problem& solved)
    : setting(phase), problem(solved), progress(pumping_note(phase)) {}

void FinalStages::add(std::span<const Implementation> contestants) {
  for (const Implementation& contestant : contestants) {
    const Candidate& candidate = contestant.candidate;
    records.push_back(new_record(contestant, candidate.kernel ? setting.id_of(candidate) : ""));
    records.back().problem = problem;
    contenders.push_back({contestant});
  }
}

Result<Stage> FinalStages::request(const Problem& solved, std::vector<InputCase> cases,
                                   const Places& contestants, std::string label) {
  Stage stage;
  stage.label = std::move(label);
  FATUNE_TRY(stage.pending,
             request_problem(setting.compiler, setting.preparation, solved, std::move(cases)));
  for (const std::size_t index : contestants) FATUNE_TRY_STATUS(request_build(index, stage));
  return stage;
}

Status FinalStages::request_build(std::size_t index, Stage& stage) {
  const DeviceLimits& limits = setting.preparation.limits;
  const Implementation& contestant = contenders[index].implementation;
  if (contestant.outside) {
    stage.builds.push_back({index, std::nullopt, {}});
    return {};
  }
  Candidate candidate = contestant.candidate;
  candidate.problem = stage.pending.order.problem;
  FATUNE_TRY(const std::string reason, impossible_reason(candidate, limits));
  if (!reason.empty()) {
    note_infeasible(index, stage, reason);
    return {};
  }
  Build build;
  build.index = index;
  FATUNE_TRY(build.plan, launch_plan(candidate, limits));
  if (!stage.label.empty()) accept_shorter_lists(build.plan);
  build.ticket = setting.compiler.submit(compile_request(candidate, limits));
  stage.builds.push_back(std::move(build));
  return {};
}

/// Fails a contestant that the main problem rules out, and skips an edge problem that the
/// contestant's config does not support.
void FinalStages::note_infeasible(std::size_t index, const Stage& stage,
                                  const std::string& reason) {
  FinalRecord& record = records[index];
  if (stage.label.empty()) {
    record.outcome = Outcome::kInfeasible;
    record.reason = reason;
    return;
  }
  log::debug(stage.label + " is skipped for " + dump(record.config) + ": " + reason);
}

void FinalStages::note_compile_error(const Build& build, const Compiled& compiled,
                                     const std::string& where) {
  records[build.index].outcome = Outcome::kCompileError;
  records[build.index].reason = where + compiled.problem;
}

Status FinalStages::finish_builds(Stage& stage) {
  for (Build& build : stage.builds) {
    if (!build.ticket) continue;
    while (!setting.compiler.ready(*build.ticket)) {
      FATUNE_TRY_STATUS(setting.compiler.pump(kCompilePause));
      progress("compiling");
    }
    build.compiled = setting.compiler.take(*build.ticket);
    if (!build.compiled->ok) note_compile_error(build, *build.compiled, "");
  }
  std::erase_if(stage.builds,
                [](const Build& build) { return build.compiled && !build.compiled->ok; });
  return {};
}

Status FinalStages::begin(Stage& stage) {
  begun = &stage;
  if (!stage.order) {
    FATUNE_TRY(stage.order, finish_problem(setting.compiler, stage.pending));
  }
  return setting.worker.begin(*stage.order, progress);
}

Status FinalStages::check(Stage& stage) {
  FATUNE_TRY_STATUS(begin(stage));
  return check_builds(stage);
}

Status FinalStages::check_builds(Stage& stage) {
  while (!stage.builds.empty()) {
    const Build build = std::move(stage.builds.front());
    stage.builds.erase(stage.builds.begin());
    FATUNE_TRY_STATUS(check_build(build));
  }
  return {};
}

Status FinalStages::check_build(const Build& build) {
  if (interrupted()) return Error{ErrorKind::kInterrupted, "interrupted in the final phase"};
  std::optional<Compiled> compiled = build.compiled;
  if (build.ticket && !compiled) {
    FATUNE_TRY(compiled, wait_for(setting.compiler, *build.ticket));
  }
  return alive(build.index) ? check_one(build, compiled) : Status();
}

Status FinalStages::check_one(const Build& build, const std::optional<Compiled>& compiled) {
  FinalRecord& record = records[build.index];
  Contender& contender = contenders[build.index];
  const std::string& label = begun->label;
  const std::string where = label.empty() ? "" : kEdgeProblem + label + ": ";
  if (compiled && !compiled->ok) {
    note_compile_error(build, *compiled, where);
    if (!label.empty()) drop_results(record);
    return {};
  }
  RunOrder order;
  order.id = record.id.empty() ? record.impl : record.id;
  order.program.outside = contender.implementation.outside;
  if (compiled) order.program = {compiled->cubin_path.string(), build.plan, {}};
  order.verify = !setting.run.skip_correctness;
  order.locate_errors = static_cast<bool>(setting.errors);
  order.hot = order.cold = false;
  FATUNE_TRY(RunReply reply, setting.worker.run(order, progress));
  if (!reply.regions.empty()) setting.errors(record.id, reply.regions);
  record.outcome = reply.outcome;
  record.reason = reply.outcome == Outcome::kMeasured ? "" : where + reply.reason;
  if (!label.empty()) {
    if (!alive(build.index)) drop_results(record);  // the contestant failed after the rounds
    ++contender.edges_checked;
    return {};
  }
  contender.program = order.program;
  record.detail = std::move(reply.detail);
  record.verification = std::move(reply.verification);
  if (compiled)
    record.resources = with_compiler_log(std::move(reply.resources), *compiled, build.plan);
  return {};
}

void FinalStages::cancel(const Stage& stage) {
  for (const Build& build : stage.builds) {
    if (build.ticket && !build.compiled) setting.compiler.cancel(*build.ticket);
  }
  if (!stage.order) cancel_problem(setting.compiler, stage.pending);
}

Places FinalStages::survivors() const {
  Places places;
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (alive(i) && contenders[i].program) places.push_back(i);
  }
  return places;
}

}  // namespace fatune
