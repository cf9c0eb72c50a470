// progress_tracker.cpp - counts outcomes, follows the best, estimates the time left.
#include "tune/sweep/progress_tracker.hpp"

#include <algorithm>
#include <utility>

#include "model/results/sweep_result.hpp"

namespace fatune {
namespace {

constexpr std::uint64_t kEnoughForEstimate = 5;  // candidates; chosen

}  // namespace

ProgressTracker::ProgressTracker(std::function<void(const SweepProgress&)> show,
                                 std::size_t problems)
    : show_(std::move(show)) {
  progress_.problems = problems;
}

void ProgressTracker::begin_problem(const std::string& problem, double now_s) {
  const std::size_t problems = progress_.problems;
  progress_ = {};
  progress_.problems = problems;
  progress_.problem_number = next_problem_++;
  progress_.problem = problem;
  progress_.phase = "search";
  search_began_s_ = now_s;
  show(now_s);
}

void ProgressTracker::plan_candidates(std::uint64_t all, double deadline_s) {
  progress_.all = all;
  deadline_s_ = deadline_s;
}

void ProgressTracker::candidate_done(const CandidateRecord& record, std::optional<double> cost_us,
                                     double now_s) {
  ++progress_.done;
  ++progress_.outcomes[record.outcome];
  if (cost_us && (!progress_.best_us || *cost_us < *progress_.best_us)) {
    progress_.best_us = cost_us;
    progress_.best_config = record.kernel + ' ' + describe_config(record.config);
  }
  if (progress_.best_us) progress_.best_history_us.push_back(*progress_.best_us);
  show(now_s);
}

void ProgressTracker::begin_finals(double now_s) {
  progress_.phase = "final";
  progress_.activity.clear();
  show(now_s);
}

void ProgressTracker::activity(std::string_view phase, double now_s) {
  progress_.activity = phase;
  show(now_s);
}

std::optional<double> ProgressTracker::estimate_left(double now_s) const {
  if (progress_.phase != "search" || progress_.done < kEnoughForEstimate) return std::nullopt;
  const double each = (now_s - search_began_s_) / static_cast<double>(progress_.done);
  const std::uint64_t ahead = progress_.all > progress_.done ? progress_.all - progress_.done : 0;
  return std::clamp(deadline_s_ - now_s, 0.0, each * static_cast<double>(ahead));
}

void ProgressTracker::show(double now_s) {
  progress_.elapsed_s = now_s;
  progress_.left_s = estimate_left(now_s);
  if (show_) show_(progress_);
}

}  // namespace fatune
