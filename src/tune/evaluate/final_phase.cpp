// final_phase.cpp - verifies contestants where it is hard, then lets them run against each other.
#include "tune/evaluate/final_phase.hpp"

#include <numeric>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/interrupt.hpp"
#include "core/log.hpp"
#include "core/text.hpp"
#include "model/results/statistics.hpp"
#include "model/space/rules.hpp"
#include "tune/evaluate/forecast.hpp"

namespace fatune {
namespace {

constexpr double kPreciseRatio = 2;  // chosen: of two margins, before it is worth a note
constexpr const char* kEdgeGate = "edge_problems";
// Chosen: contestants whose edge problems are compiled before the winner is known, and idle compile
// processes that this takes.
constexpr std::size_t kLikelyWinners = 3, kManyIdle = 8;
// Chosen: of the best's median, an interval that is wider says that chance had a part in the
// choice.
constexpr double kWide = 0.01;
constexpr std::chrono::milliseconds kCompilePause{100};  // between two notes of progress
constexpr const char* kNotTheWinner = "checked for the winner alone";

Timing summary_of(const std::vector<double>& rounds_us, std::int64_t launches, std::uint64_t seed) {
  Timing timing = summarize(rounds_us, launches);
  const Interval interval = bootstrap_median(rounds_us, kResamples, seed);
  timing.ci95_low_us = interval.low;
  timing.ci95_high_us = interval.high;
  return timing;
}

/// What the rounds say about the gates of timed launches.
void add_gates(const RoundsRow& row, Verification& verification) {
  verification.gates.insert(verification.gates.end(), row.gates.begin(), row.gates.end());
  verification.not_run.insert(verification.not_run.end(), row.not_run.begin(), row.not_run.end());
  if (row.outcome == Outcome::kWrongResult) verification.passed = false;
}

bool is_baseline(const Implementation& contestant) { return contestant.role == "baseline"; }

bool is_noisy(const FinalRecord& record) {
  const auto& timing = record.in_layer ? record.in_layer : record.hot;
  if (!timing || !timing->ci95_low_us || !timing->ci95_high_us) return false;
  return *timing->ci95_high_us - *timing->ci95_low_us > kWide * timing->median_us;
}

/// Marks configs whose margin is far above that of their kernel's default config: they may compute
/// with less precision.
void note_precision(std::vector<FinalRecord>& records) {
  for (const FinalRecord& usual : records) {
    if (usual.role != "default" || !usual.verification || usual.verification->margin <= 0) continue;
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
    // An error shows again where the result is awaited.
    static_cast<void>(setting_.compiler.pump(std::chrono::milliseconds(0)));
    if (setting_.progress) setting_.progress(phase);
  };
}

Result<FinalPhase::Stage> FinalPhase::request_stage(const Problem& problem,
                                                    std::vector<InputCase> cases,
                                                    const Places& contestants) {
  Stage stage;
  const DeviceLimits& limits = setting_.preparation.limits;
  FATUNE_TRY(stage.pending,
             request_problem(setting_.compiler, setting_.preparation, problem, std::move(cases)));
  for (const std::size_t index : contestants) {
    const Implementation& contestant = (*contestants_)[index];
    if (contestant.outside) {
      stage.builds.push_back({index, std::nullopt, {}});
      continue;
    }
    Candidate candidate = contestant.candidate;
    candidate.problem = problem;
    FATUNE_TRY(const std::string reason, impossible_reason(candidate, limits));
    if (!reason.empty()) {
      note_infeasible(index, problem, reason);
      continue;
    }
    Build build;
    build.index = index;
    FATUNE_TRY(build.plan, launch_plan(candidate, limits));
    if (!(problem == problem_)) accept_shorter_lists(build.plan);
    build.ticket = setting_.compiler.submit(compile_request(candidate, limits));
    stage.builds.push_back(std::move(build));
  }
  return stage;
}

/// A config that was chosen for one problem need not be possible for an edge problem, which is then
/// left out for it.
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
  const std::string where = label.empty() ? "" : "edge problem " + label + ": ";
  if (compiled && !compiled->ok) {
    note_compile_error(build, *compiled, where);
    return {};
  }
  RunOrder order;
  order.id = record.id.empty() ? record.impl : record.id;
  order.program.outside = (*contestants_)[build.index].outside;
  if (compiled) order.program = {compiled->cubin_path.string(), build.plan, {}};
  order.verify = !setting_.run.skip_correctness;
  order.hot = order.cold = false;
  if (record.external) {
    programs_[build.index] = order.program;
    return {};
  }
  FATUNE_TRY(RunReply reply, setting_.worker.run(order, progress_));
  if (!reply.regions.empty() && setting_.errors) setting_.errors(record.id, reply.regions);
  record.outcome = reply.outcome;
  record.reason = reply.outcome == Outcome::kMeasured ? "" : where + reply.reason;
  if (!label.empty()) {
    if (!alive(build.index)) drop_times(record);  // it turns out wrong behind the rounds
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

/// `label` names an edge problem; empty for the problem itself.
Status FinalPhase::check_stage(const Stage& stage, const Places& contestants,
                               const std::string& label) {
  FATUNE_TRY(const BeginOrder order,
             finish_problem(setting_.compiler, setting_.preparation, stage.pending));
  FATUNE_TRY_STATUS(setting_.worker.begin(order, progress_));
  for (const Build& build : stage.builds) {
    if (std::ranges::find(contestants, build.index) == contestants.end()) continue;
    if (interrupted()) return Error{ErrorKind::kInterrupted, "interrupted in the final phase"};
    std::optional<Compiled> compiled = build.compiled;
    if (build.ticket && !compiled) {
      FATUNE_TRY(compiled, wait_for(setting_.compiler, *build.ticket));
    }
    if (alive(build.index)) FATUNE_TRY_STATUS(check_one(build, compiled, label));
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

/// The gates of timed launches are for the first time.
Status FinalPhase::time(const Places& contestants, bool again) {
  RoundsOrder order;
  order.rounds = plan_.rounds;
  order.launches_per_round = plan_.launches_per_round;
  order.seed = plan_.seed + (again ? 1 : 0);
  order.verify = !again && !setting_.run.skip_correctness;
  order.in_layer = !problem_.custom;
  for (const std::size_t index : contestants) order.contestants.push_back(*programs_[index]);
  if (contestants.empty() || plan_.rounds == 0) return {};
  FATUNE_TRY(RoundsReply reply, setting_.worker.rounds(order, progress_));
  if (reply.rows.size() != contestants.size())
    return device_error("the device worker's rounds do not match the contestants");
  if (!reply.layer_note.empty()) log::info(describe(problem_) + ": " + reply.layer_note);
  for (std::size_t i = 0; i < contestants.size(); ++i) {
    FinalRecord& record = records_[contestants[i]];
    RoundsRow& row = reply.rows[i];
    record.outcome = row.outcome;
    record.reason = row.reason;
    if (!row.detail.empty()) record.detail = row.detail;
    record.conditions = row.conditions;
    if (record.verification && !again) add_gates(row, *record.verification);
    drop_times(record);
    if (row.outcome != Outcome::kMeasured || row.hot_us.empty()) continue;
    take_times(row.hot_us, row.hot_launches, record.hot, record.hot_rounds_us);
    take_times(row.plain_us, row.hot_launches, record.plain, record.plain_rounds_us);
    take_times(row.in_layer_us, 1, record.in_layer, record.in_layer_rounds_us);
    take_times(row.cold_us, 1, record.cold, record.cold_rounds_us);
    record.timed_again = again;
  }
  return {};
}

/// The best of several that chance could have ordered otherwise looks faster than it is, so where
/// rounds are noisy its times are those of rounds that had no say, beside the baselines.
Status FinalPhase::time_again() {
  if (!plan_.winner) return {};
  const auto winner = place_of_winner();
  if (!winner || !is_noisy(records_[*winner])) return {};
  progress_("final, again");
  Places places = survivors();
  std::erase_if(places, [&](std::size_t index) {
    return index != *winner && !is_baseline((*contestants_)[index]);
  });
  return time(places, true);
}

Result<std::vector<FinalPhase::Stage>> FinalPhase::request_edges(const Places& contestants) {
  std::vector<Stage> edges;
  const Operation& operation = *setting_.preparation.reference->manifest.operation;
  FATUNE_TRY(std::vector<EdgeProblem> awkward, operation.edge_problems(problem_, seed_));
  for (EdgeProblem& edge : awkward) {
    FATUNE_TRY(Stage stage, request_stage(edge.problem, std::move(edge.cases), contestants));
    edges.push_back(std::move(stage));
  }
  return edges;
}

Status FinalPhase::check_edges(const std::vector<Stage>& edges, const Places& contestants) {
  for (const Stage& stage : edges) {
    if (!stage.builds.empty())
      FATUNE_TRY_STATUS(check_stage(stage, contestants, describe(stage.pending.problem)));
  }
  for (const std::size_t index : contestants) {
    FinalRecord& record = records_[index];
    if (edges.empty() || !alive(index) || !record.verification) continue;
    record.verification->gates.push_back(
        fmt::format("{} {}/{}", kEdgeGate, edges_checked_[index], edges.size()));
  }
  return {};
}

/// Of those whose winner alone is to solve edge problems, the ones that were fastest in the search:
/// one, and more while compile processes would be idle.
FinalPhase::Places FinalPhase::candidates_for_edges() const {
  std::size_t most = contestants_->size();
  if (plan_.winner) most = setting_.compiler.idle() < kManyIdle ? 1 : kLikelyWinners;
  Places places;
  for (std::size_t index = 0; index < contestants_->size() && places.size() < most; ++index) {
    if (!is_baseline((*contestants_)[index])) places.push_back(index);
  }
  return places;
}

std::optional<std::size_t> FinalPhase::place_of_winner() const {
  const std::string id = plan_.winner(records_);
  const auto winner = std::ranges::find_if(records_, [&](const FinalRecord& record) {
    return record.is_candidate() && record.id == id;
  });
  if (winner == records_.end()) return std::nullopt;
  return static_cast<std::size_t>(winner - records_.begin());
}

/// `requested` are the edge problems of the likely winners. Each stage can be checked once.
Status FinalPhase::prove_winner(const Places& likely, std::vector<Stage> requested) {
  std::set<std::size_t> proved;
  while (const auto winner = place_of_winner()) {
    if (!proved.insert(*winner).second) break;
    // First, so that the winner's compilations do not wait behind those of others.
    for (const Stage& stage : requested) {
      for (const Build& build : stage.builds) {
        if (build.index != *winner && build.ticket) setting_.compiler.cancel(*build.ticket);
      }
    }
    if (proved.size() > 1 || std::ranges::find(likely, *winner) == likely.end()) {
      FATUNE_TRY(requested, request_edges({*winner}));
    }
    FATUNE_TRY_STATUS(check_edges(requested, {*winner}));
  }
  for (std::size_t index = 0; index < records_.size(); ++index) {
    auto& verification = records_[index].verification;
    if (records_[index].is_candidate() && verification && !proved.contains(index))
      verification->not_run.push_back(fmt::format("{}: {}", kEdgeGate, kNotTheWinner));
  }
  return {};
}

void FinalPhase::describe_contestants() {
  for (const Implementation& contestant : *contestants_) {
    FinalRecord record;
    record.impl = contestant.impl;
    record.role = contestant.role;
    record.problem = problem_;
    record.external = contestant.outside && contestant.impl.starts_with(kExternalPrefix);
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

/// What does not compile leaves the stage.
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

/// Once every compilation has ended: nothing of the inputs can be in the machine code.
Status FinalPhase::draw_seed(Stage& main) {
  FATUNE_TRY_STATUS(finish_builds(main));
  seed_ = unknown_seed();
  main.pending.cases = main_cases();
  return {};
}

Result<std::vector<FinalRecord>> FinalPhase::run(const std::vector<Implementation>& contestants) {
  contestants_ = &contestants;
  programs_.assign(contestants.size(), {});
  edges_checked_.assign(contestants.size(), 0);
  describe_contestants();
  FATUNE_TRY_STATUS(setting_.worker.prepare({problem_, outside_programs(contestants)}));
  const bool checks = !setting_.run.skip_correctness;
  Places everyone(contestants.size());
  std::iota(everyone.begin(), everyone.end(), 0);
  const Places at_edges = candidates_for_edges();
  // Everything is handed to the compilers first. What they need longest, the edge problems, they
  // work at while the contestants are checked on the problem itself and timed.
  FATUNE_TRY(Stage main, request_stage(problem_, main_cases(), everyone));
  if (plan_.secret_inputs) FATUNE_TRY_STATUS(draw_seed(main));
  if (main.builds.empty()) return std::move(records_);
  std::vector<Stage> edges;
  if (plan_.edge_problems && checks && !at_edges.empty()) {
    FATUNE_TRY(edges, request_edges(at_edges));
  }
  FATUNE_TRY_STATUS(check_stage(main, everyone, ""));
  note_precision(records_);
  FATUNE_TRY_STATUS(time(survivors(), false));
  FATUNE_TRY_STATUS(time_again());
  if (edges.empty()) return std::move(records_);
  FATUNE_TRY_STATUS(plan_.winner ? prove_winner(at_edges, std::move(edges))
                                 : check_edges(edges, at_edges));
  return std::move(records_);
}

}  // namespace fatune
