// run_clock.hpp - seconds since a run began, through interruptions: replayed results bring their
// own time.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>

namespace fatune {

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
  void replay(double at_s) { replayed_s_ = std::max(replayed_s_, at_s); }
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

}  // namespace fatune
