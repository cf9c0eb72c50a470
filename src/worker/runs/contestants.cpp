// contestants.cpp: Captures the graphs of contestants, and gives up baselines that fail.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/text.hpp"
#include "worker/runs/runs.hpp"

namespace fatune {
namespace {

// Chosen: contestants that take this many times as long as the fastest take part in few rounds.
constexpr double kSlowFactor = 10;
constexpr int kFewTurns = 10;  // as many as an interval needs
// Chosen: if a round takes longer than this, there are fewer rounds, but at least kFewTurns.
constexpr Seconds kRoundTime{0.1};

}  // namespace

Contestants::Contestants(DeviceSession& on, DeviceProblem& solved, const RoundsOrder& ordered)
    : session(on),
      problem(solved),
      order(ordered),
      watch(on.telemetry),
      programs(ordered.contestants.size()),
      rows(ordered.contestants.size()) {}

Status Contestants::open() {
  open_layer();
  for (std::size_t i = 0; i < size(); ++i) {
    auto program = OpenProgram::open(session, problem, order.contestants[i]);
    if (!program) {
      FATUNE_TRY_STATUS(leave_out(i, program.error()));
      continue;
    }
    auto opened = make_loops(*std::move(program));
    if (!opened) {
      FATUNE_TRY_STATUS(give_up(i, opened.error()));
      continue;
    }
    SelfTimed* const timer = opened->program->self_timed();
    rows[i].hot_launches = timer != nullptr ? timer->hot_launches() : opened->loop.launches;
    if (timer == nullptr && (fastest_ == Micros{0} || opened->each < fastest_))
      fastest_ = opened->each;
    programs[i] = *std::move(opened);
  }
  note_edges();
  return {};
}

/// Without a layer there are no times in a layer, and a note says why.
void Contestants::open_layer() {
  if (!order.in_layer) return;
  const auto found = problem.layer();
  if (!found) {
    layer_note = "no times in a layer: " + found.error().message;
    return;
  }
  layer = *found;
  const LayerPlan& plan = layer->plan();
  layer_note =
      fmt::format("{} layers of {} tokens, hidden size {}{}; {} without attention", plan.layers,
                  plan.tokens, plan.hidden, plan.cached_keys ? ", keys and values cached" : "",
                  describe(layer->without_time()));
}

/// Notes the edges of the graph with the most dependent launches.
void Contestants::note_edges() {
  std::optional<gpu::GraphEdges> most;
  for (const auto& timed : programs) {
    if (!timed || !timed->in_layer || !timed->in_layer->edges) continue;
    if (!most || timed->in_layer->edges->programmatic > most->programmatic)
      most = timed->in_layer->edges;
  }
  if (!most) return;
  layer_note += fmt::format("; edges: {}, of them programmatic {}", most->all, most->programmatic);
}

Result<TimedProgram> Contestants::make_loops(OpenProgram program) {
  TimedProgram opened;
  opened.program = std::move(program);
  if (opened.program->self_timed() != nullptr) return opened;
  const QueueWork work = [&] { return opened.program->queue(); };
  FATUNE_TRY_STATUS(problem.fill_read_outputs(problem.sets().front()));
  FATUNE_TRY(opened.each, finished(sampler().estimate(work)));
  FATUNE_TRY(opened.loop, sampler().make_loop(work, opened.each));
  if (opened.program->begins_early()) {
    const QueueWork plainly = [&] { return opened.program->queue_plainly(); };
    FATUNE_TRY(opened.plain, sampler().make_loop(plainly, opened.each));
  }
  if (layer != nullptr) {
    FATUNE_TRY(opened.in_layer, layer->loop_with(sampler(), *opened.program));
    FATUNE_TRY_STATUS(opened.program->bind(problem.addresses(problem.sets().front())));
  }
  return opened;
}

Status Contestants::give_up(std::size_t i, const Error& error) {
  if (!order.contestants[i].outside) return Error(error);
  return leave_out(i, error);
}

/// A contestant that cannot be opened, say for lack of memory, costs its row alone.
Status Contestants::leave_out(std::size_t i, const Error& error) {
  const Failure failure = failure_of(error, session.stream.raw());
  if (failure.fatal) return Error(error);
  programs[i].reset();
  record_failure(failure, rows[i]);
  return {};
}

bool Contestants::takes_turn(std::size_t i, int round, int rounds) const {
  if (!programs[i]) return false;
  if (programs[i]->program->self_timed() != nullptr) return true;
  return programs[i]->each < fastest_ * kSlowFactor || round % std::max(1, rounds / kFewTurns) == 0;
}

int Contestants::affordable_rounds(Seconds each) const {
  const double affordable = order.rounds * std::min(1.0, kRoundTime.value / each.value);
  return std::clamp(static_cast<int>(affordable), std::min(kFewTurns, order.rounds), order.rounds);
}

}  // namespace fatune
