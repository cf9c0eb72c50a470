// run_state.hpp: Holds the state of a running sweep on one device.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "model/results/journal.hpp"
#include "model/results/record.hpp"
#include "model/results/sweep_result.hpp"
#include "tune/evaluate/evaluator.hpp"
#include "tune/sweep/run_journal.hpp"
#include "tune/sweep/sweep.hpp"

namespace fatune {

/// Replays the time of a resumed run: the journal's times up to the first new candidate, and then
/// continues from the journal's end. A time budget is thus spent once, not once per attempt.
class RunClock {
 public:
  RunClock(std::function<double()> source, double journalled_s)
      : source_(source ? std::move(source) : steady_seconds), journalled_s_(journalled_s) {
    if (journalled_s_ <= 0) go_live();
  }

  double now() const { return live_ ? journalled_s_ + source_() - started_ : replayed_s_; }
  void replay(double at_s) { replayed_s_ = std::max(replayed_s_, std::min(at_s, journalled_s_)); }
  /// Returns to a problem's begin, which may precede the end of other problems in the journal.
  void rewind(double at_s) { replayed_s_ = std::min(at_s, journalled_s_); }
  /// Elapsed time of a problem, for differences only: replayed time plus live time.
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
  /// Begins the search of a kernel: `all` candidates of the problem are known to come.
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
  const RunPlan& plan;  ///< completed plan of the options; with the warm starts of a resumed run
  const std::vector<KernelRef>& kernels;
  KernelRef baseline;  ///< the reference if it takes part; else null
  const Environment& environment;
  Evaluator* evaluator;  ///< null: only journalled results are wanted
  RunJournal& journal;
  RunClock clock;
  ProgressTracker progress;
  /// Keys of candidates that reached the device in this attempt.
  std::set<std::string> started = {};
  std::map<std::string, CandidateRecord> early = {};  ///< by key: journalled before collection
  std::optional<Problem> begun = {};        ///< the problem that the evaluator is ready for
  std::set<std::string> still_absent = {};  ///< baselines that a repeated final phase lacked, too
  bool interrupted = false;
  std::string device = {};  ///< name among several devices; empty: single device
  double began_s = 0;       ///< begin of the problem's search

  /// Whether measuring has ended; journalled results still count.
  bool is_over() const { return interrupted || evaluator == nullptr; }
  /// Sets the time of a record and appends the record to the journal.
  template <typename T>
  Status write(T& record) {
    record.at_s = clock.now();
    return journal.append(record);
  }
  /// Makes the device ready for a problem. Called late, so that a fully journalled run needs no
  /// device.
  Status begin(const Problem& problem);

 private:
  Status tell_begin(const Problem& problem);
  Status try_once_more(const Problem& problem);
};

struct Unhook {
  void operator()(Evaluator* evaluator) const;
};
/// Connects the evaluator's callbacks to a run while this object lives.
using Hooked = std::unique_ptr<Evaluator, Unhook>;
Hooked hook(RunState& run);

}  // namespace fatune
