// progress_tracker.hpp - keeps a sweep's progress up to date and passes it to a callback.
#pragma once

#include <functional>
#include <string>

#include "model/results/progress.hpp"
#include "model/results/record.hpp"

namespace fatune {

class ProgressTracker {
 public:
  ProgressTracker(std::function<void(const SweepProgress&)> show, std::size_t problems);

  void begin_problem(const std::string& problem, double now_s);
  /// The search of a kernel begins: `all` candidates of the problem are now known to come.
  void plan_candidates(std::uint64_t all, double deadline_s);
  void candidate_done(const CandidateRecord& record, std::optional<double> cost_us, double now_s);
  void begin_finals(double now_s);
  void activity(std::string_view phase, double now_s);

 private:
  void show(double now_s);
  std::optional<double> estimate_left(double now_s) const;

  std::function<void(const SweepProgress&)> show_;
  SweepProgress progress_;
  std::size_t next_problem_ = 1;
  double search_began_s_ = 0;
  double deadline_s_ = 0;
};

}  // namespace fatune
