// run_state.hpp - what the parts of a running sweep share: journal, clock, progress, evaluator.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "model/kernel/candidate.hpp"
#include "model/results/journal.hpp"
#include "model/results/last_finals.hpp"
#include "model/results/record.hpp"
#include "model/results/sweep_result.hpp"
#include "tune/evaluate/evaluator.hpp"
#include "tune/sweep/sweep.hpp"

namespace fatune {

class ResumeIndex {
 public:
  ResumeIndex() = default;
  explicit ResumeIndex(const Journal& journal);

  /// The journalled result of a candidate. The one started last, when it never finished and was
  /// started again already, took the whole program with it twice: it gives a record that says
  /// `crashed`, which is not in the journal yet.
  std::optional<CandidateRecord> find(const Candidate& candidate) const;
  /// The one started last when it never finished: what ended the program may have been anything.
  /// Those started before it had left the device when it was their turn to be journalled, if there
  /// is one device: on several GPUs, one that takes the host down beside another goes unseen.
  const StartedRecord* suspect() const;
  void add(const CandidateRecord& record) { finished_.insert_or_assign(record.key, record); }
  bool is_journalled(const std::string& key) const { return finished_.contains(key); }
  const std::map<std::string, CandidateRecord>& results() const { return finished_; }  ///< by key
  std::vector<CandidateRecord> results(const Problem& problem) const;  ///< in the order of time
  const std::vector<FinalRecord>& finals(const Problem& problem) const {
    return finals_.of(problem);
  }
  double last_at_s() const { return last_at_s_; }
  bool complete() const { return complete_; }  ///< the run had come to its end

 private:
  std::map<std::string, CandidateRecord> finished_;  ///< by key
  std::optional<StartedRecord> last_started_;
  LastFinals finals_;
  double last_at_s_ = 0;
  bool complete_ = false;
};

/// While a resumed run repeats what its journal holds, it is as late as the journal says; from the
/// first new candidate on the time goes on from the journal's end. A time budget is thus spent
/// once, not once per attempt.
class RunClock {
 public:
  RunClock(std::function<double()> source, double journalled_s)
      : source_(source ? std::move(source) : steady_seconds), journalled_s_(journalled_s) {
    if (journalled_s_ <= 0) go_live();
  }

  double now() const { return live_ ? journalled_s_ + source_() - started_ : replayed_s_; }
  void replay(double at_s) { replayed_s_ = std::max(replayed_s_, std::min(at_s, journalled_s_)); }
  /// Of differences: on what was replayed, and since. What is between the two is of other problems.
  double spent() const { return live_ ? replayed_s_ + source_() - started_ : replayed_s_; }
  void go_live() {
    if (live_) return;
    live_ = true;
    started_ = source_();
  }

 private:
  static double steady_seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }

  std::function<double()> source_;
  double journalled_s_;
  double replayed_s_ = 0;
  double started_ = 0;
  bool live_ = false;
};

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

struct RunState {
  const SweepOptions& options;
  const RunPlan& plan;  ///< of the options, completed; of a resumed run with its warm starts
  const std::vector<KernelRef>& kernels;
  KernelRef baseline;  ///< the reference, when it takes part; else null
  Evaluator& evaluator;
  JournalWriter journal;
  ResumeIndex known;
  RunClock clock;
  ProgressTracker progress;
  std::set<std::string> started = {};  ///< keys of those that reached the device in this attempt
  std::map<std::string, CandidateRecord> early = {};  ///< by key: journalled, their turn is to come
  std::optional<Problem> begun = {};        ///< the problem that the evaluator is ready for
  std::size_t finals_here = 0;              ///< problems whose final phase is not the journal's
  std::set<std::string> still_absent = {};  ///< baselines that a repeated final phase lacked, too
  bool interrupted = false;
  bool failed = false;                       ///< a problem's error ends the run
  std::optional<Environment> began_on = {};  ///< of a resumed run

  /// Nothing more is measured; what the journal has still counts.
  bool is_over() const { return interrupted || failed; }
  /// Makes the device ready for a problem: late, so that a run whose results are all journalled
  /// needs none.
  Status begin(const Problem& problem);

 private:
  Status try_once_more(const Problem& problem);
};

}  // namespace fatune
