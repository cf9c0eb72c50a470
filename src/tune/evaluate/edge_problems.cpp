// edge_problems.cpp: Chooses which contestants solve edge problems, and finds the winner.
#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "model/results/sweep_result.hpp"
#include "tune/evaluate/final_phase.hpp"

namespace fatune {
namespace {

constexpr const char* kNotTheWinner = "checked for the winner alone";
// Chosen: number of contestants whose edge problems are compiled early, and idle compile processes
// needed for that.
constexpr std::size_t kLikelyWinners = 3, kManyIdle = 8;
// Chosen: relative width of the best's interval beyond which the choice counts as influenced by
// noise.
constexpr double kWide = 0.01;

bool is_baseline(const Implementation& contestant) { return contestant.role == RowRole::kBaseline; }

bool is_noisy(const FinalRecord& record, Time time) {
  const auto& timing = timing_of(record, time);
  if (!timing || !timing->ci95_low_us || !timing->ci95_high_us) return false;
  return *timing->ci95_high_us - *timing->ci95_low_us > kWide * timing->median_us;
}

}  // namespace

/// Picks the fastest contestants of the search for early compilation: one, and more while compile
/// processes would be idle.
FinalPhase::Places FinalPhase::candidates_for_edges() const {
  std::size_t most = records_.size();
  if (plan_.winner) most = setting_.compiler.idle() < kManyIdle ? 1 : kLikelyWinners;
  Places places;
  for (std::size_t index = 0; index < records_.size() && places.size() < most; ++index) {
    if (!is_baseline(contestants_[index])) places.push_back(index);
  }
  return places;
}

bool FinalPhase::asks(const Stage& stage, std::size_t index) {
  return std::ranges::find(stage.builds, index, &Build::index) != stage.builds.end();
}

Result<std::vector<FinalPhase::Stage>> FinalPhase::request_edges(const Places& contestants) {
  std::vector<Stage> edges;
  const Operation& operation = *setting_.preparation.reference->manifest.operation;
  FATUNE_TRY(std::vector<EdgeProblem> awkward, operation.edge_problems(problem_, seed_));
  edges.reserve(awkward.size());  // `begun_` may point into this vector when a last resort is added
  for (EdgeProblem& edge : awkward) {
    if (edge.last_resort) continue;
    FATUNE_TRY(Stage stage, request_stage(edge.problem, std::move(edge.cases), contestants));
    edges.push_back(std::move(stage));
  }
  FATUNE_TRY_STATUS(request_last_resort(contestants, edges));
  return edges;
}

bool FinalPhase::persists(std::size_t index, const Problem& problem) const {
  if (contestants_[index].outside) return false;
  Candidate candidate = contestants_[index].candidate;
  candidate.problem = problem;
  return is_persistent(std::move(candidate), setting_.preparation.limits);
}

/// Requests the last resort for contestants that support no other edge problem, and for contestants
/// that run several work tiles per CTA there only.
Status FinalPhase::request_last_resort(const Places& contestants, std::vector<Stage>& edges) {
  const Operation& operation = *setting_.preparation.reference->manifest.operation;
  FATUNE_TRY(std::vector<EdgeProblem> awkward, operation.edge_problems(problem_, seed_));
  const auto last = std::ranges::find_if(awkward, &EdgeProblem::last_resort);
  if (last == awkward.end()) return {};
  Places asked;
  std::ranges::copy_if(contestants, std::back_inserter(asked), [&](std::size_t index) {
    return persists(index, last->problem) ||
           std::ranges::none_of(edges, [&](const Stage& stage) { return asks(stage, index); });
  });
  if (asked.empty()) return {};
  at_last_resort_.insert(asked.begin(), asked.end());
  const auto there = std::ranges::find_if(edges, &Stage::last_resort);
  if (there != edges.end()) {
    for (const std::size_t index : asked) FATUNE_TRY_STATUS(request_build(index, *there));
    return {};
  }
  FATUNE_TRY(Stage stage, request_stage(last->problem, std::move(last->cases), asked));
  stage.last_resort = true;
  edges.push_back(std::move(stage));
  return {};
}

Status FinalPhase::check_edges(std::vector<Stage>& edges) {
  for (Stage& stage : edges) {
    const bool asked =
        std::ranges::any_of(stage.builds, [&](const Build& build) { return alive(build.index); });
    if (asked) FATUNE_TRY_STATUS(check_stage(stage, describe(stage.pending.problem)));
  }
  for (const std::size_t index : candidates_for_edges()) note_edges(index, edges);
  return {};
}

void FinalPhase::note_edges(std::size_t index, const std::vector<Stage>& edges) {
  FinalRecord& record = records_[index];
  if (edges.empty() || !alive(index) || !record.verification) return;
  const bool others_alone = !at_last_resort_.contains(index);
  const auto of = std::ranges::count_if(
      edges, [&](const Stage& stage) { return !(stage.last_resort && others_alone); });
  Verification& verification = *record.verification;
  if (edges_checked_[index] == 0) {
    verification.not_run.push_back(
        fmt::format("{}: it can do none of {}", name(GateId::kEdgeProblems), of));
  } else {
    verification.gates.push_back({GateId::kEdgeProblems, edges_checked_[index], of});
  }
}

std::optional<std::size_t> FinalPhase::place_of_winner() const {
  const std::string id = plan_.winner(records_);
  const auto winner = std::ranges::find_if(records_, [&](const FinalRecord& record) {
    return record.is_candidate() && record.id == id;
  });
  if (winner == records_.end()) return std::nullopt;
  return static_cast<std::size_t>(winner - records_.begin());
}

/// Finds the best contestant that solves the edge problems, with times of rounds that did not
/// choose it.
Status FinalPhase::settle_winner(Stage& main, std::vector<Stage>& edges) {
  std::set<std::size_t> proved;
  for (;;) {
    if (const auto winner = noisy_winner()) {
      if (begun_ != &main) FATUNE_TRY_STATUS(begin(main));
      FATUNE_TRY_STATUS(time_again(*winner));
    }
    FATUNE_TRY_STATUS(prove_winner(edges, proved));
    if (!noisy_winner()) break;
  }
  if (const auto winner = place_of_winner()) note_edges(*winner, edges);
  for (std::size_t index = 0; index < records_.size() && !edges.empty(); ++index) {
    auto& verification = records_[index].verification;
    if (records_[index].is_candidate() && verification && !proved.contains(index))
      verification->not_run.push_back(
          fmt::format("{}: {}", name(GateId::kEdgeProblems), kNotTheWinner));
  }
  return {};
}

/// Returns the winner if its interval is wide and its present times made it the winner.
std::optional<std::size_t> FinalPhase::noisy_winner() const {
  const auto winner = place_of_winner();
  if (!winner || records_[*winner].timed_again) return std::nullopt;
  const Time time = final_time(records_, setting_.run.objective);
  return is_noisy(records_[*winner], time) ? winner : std::nullopt;
}

/// Retimes the best beside the baselines if rounds are noisy, because a maximum of several similar
/// contestants is biased.
Status FinalPhase::time_again(std::size_t winner) {
  progress_("final, again");
  Places places = survivors();
  std::erase_if(places, [&](std::size_t index) {
    return index != winner && !is_baseline(contestants_[index]);
  });
  return time(places, true);
}

/// Checks the winner's edge problems. The next contestant continues at the current edge problem,
/// because references of large problems take longest.
Status FinalPhase::prove_winner(std::vector<Stage>& edges, std::set<std::size_t>& proved) {
  const auto waits = [](const Stage& stage) { return !stage.builds.empty(); };
  while (const auto winner = place_of_winner()) {
    if (proved.insert(*winner).second) FATUNE_TRY_STATUS(leave_edges_to(*winner, edges));
    if (!waits(*begun_)) {
      const auto next = std::ranges::find_if(edges, waits);
      if (next == edges.end()) return {};
      FATUNE_TRY_STATUS(begin(*next));
    }
    const Build build = std::move(begun_->builds.back());
    begun_->builds.pop_back();
    FATUNE_TRY_STATUS(check_build(build, describe(begun_->pending.problem)));
  }
  return {};
}

/// Puts the winner's compilations before all others.
Status FinalPhase::leave_edges_to(std::size_t winner, std::vector<Stage>& edges) {
  bool requested = false;
  for (Stage& stage : edges) {
    for (const Build& build : stage.builds) {
      if (build.index != winner && build.ticket) setting_.compiler.cancel(*build.ticket);
    }
    requested = requested || asks(stage, winner);
    std::erase_if(stage.builds, [&](const Build& build) { return build.index != winner; });
  }
  if (requested || edges.empty()) return {};  // no edge problems were requested
  for (Stage& stage : edges) {
    if (!stage.last_resort) FATUNE_TRY_STATUS(request_build(winner, stage));
  }
  return request_last_resort({winner}, edges);
}

}  // namespace fatune
