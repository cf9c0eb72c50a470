// edge_problems.cpp: Requests edge problems, and notes who passed how many.
#include "tune/evaluate/edge_problems.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

namespace fatune {

EdgeProblems::~EdgeProblems() {
  for (const Stage& stage : edges_) stages_.cancel(stage);
}

Status EdgeProblems::request(const Places& contestants, std::uint64_t seed) {
  seed_ = seed;
  const Operation& operation = *stages_.setting.preparation.reference->manifest.operation;
  FATUNE_TRY(std::vector<EdgeProblem> awkward, operation.edge_problems(stages_.problem, seed_));
  edges_.reserve(
      awkward.size());  // FinalStages::begun may point into it when a last resort is added
  for (EdgeProblem& edge : awkward) {
    if (edge.last_resort) continue;
    FATUNE_TRY(Stage stage, stages_.request(edge.problem, std::move(edge.cases), contestants,
                                            describe(edge.problem)));
    edges_.push_back(std::move(stage));
  }
  return request_last_resort(contestants);
}

bool EdgeProblems::persists(std::size_t index, const Problem& problem) const {
  const Implementation& contestant = stages_.contenders[index].implementation;
  if (contestant.outside) return false;
  Candidate candidate = contestant.candidate;
  candidate.problem = problem;
  return is_persistent(std::move(candidate), stages_.setting.preparation.limits);
}

Status EdgeProblems::request_last_resort(const Places& contestants) {
  const Operation& operation = *stages_.setting.preparation.reference->manifest.operation;
  FATUNE_TRY(std::vector<EdgeProblem> awkward, operation.edge_problems(stages_.problem, seed_));
  const auto last = std::ranges::find_if(awkward, &EdgeProblem::last_resort);
  if (last == awkward.end()) return {};
  Places asked;
  std::ranges::copy_if(contestants, std::back_inserter(asked), [&](std::size_t index) {
    return persists(index, last->problem) ||
           std::ranges::none_of(edges_, [&](const Stage& stage) { return stage.has(index); });
  });
  if (asked.empty()) return {};
  at_last_resort_.insert(asked.begin(), asked.end());
  const auto there = std::ranges::find_if(edges_, &Stage::last_resort);
  if (there != edges_.end()) {
    for (const std::size_t index : asked) FATUNE_TRY_STATUS(stages_.request_build(index, *there));
    return {};
  }
  FATUNE_TRY(Stage stage, stages_.request(last->problem, std::move(last->cases), asked,
                                          describe(last->problem)));
  stage.last_resort = true;
  edges_.push_back(std::move(stage));
  return {};
}

Status EdgeProblems::check_all(const Places& contestants) {
  for (Stage& stage : edges_) {
    const bool asked = std::ranges::any_of(
        stage.builds, [&](const Build& build) { return stages_.alive(build.index); });
    if (asked) FATUNE_TRY_STATUS(stages_.check(stage));
  }
  for (const std::size_t index : contestants) note(index);
  return {};
}

Status EdgeProblems::leave_to(std::size_t winner) {
  bool requested = false;
  for (Stage& stage : edges_) {
    for (const Build& build : stage.builds) {
      if (build.index != winner && build.ticket) stages_.setting.compiler.cancel(*build.ticket);
    }
    requested = requested || stage.has(winner);
    std::erase_if(stage.builds, [&](const Build& build) { return build.index != winner; });
  }
  if (requested || edges_.empty()) return {};  // no edge problems were requested
  for (Stage& stage : edges_) {
    if (!stage.last_resort) FATUNE_TRY_STATUS(stages_.request_build(winner, stage));
  }
  return request_last_resort({winner});
}

Stage* EdgeProblems::next() {
  const auto waits = [](const Stage& stage) { return !stage.builds.empty(); };
  const auto found = std::ranges::find_if(edges_, waits);
  return found == edges_.end() ? nullptr : &*found;
}

void EdgeProblems::note(std::size_t index) {
  FinalRecord& record = stages_.records[index];
  if (edges_.empty() || !stages_.alive(index) || !record.verification) return;
  const bool others_alone = !at_last_resort_.contains(index);
  const auto of = std::ranges::count_if(
      edges_, [&](const Stage& stage) { return !(stage.last_resort && others_alone); });
  Verification& verification = *record.verification;
  const int checked = stages_.contenders[index].edges_checked;
  if (checked == 0) {
    verification.not_run.push_back(
        fmt::format("{}: it can do none of {}", name(GateId::kEdgeProblems), of));
  } else {
    verification.gates.push_back({GateId::kEdgeProblems, checked, of});
  }
}

}  // namespace fatune
