// live_progress.hpp - progress on stderr that gets out of the way of log messages.
#pragma once

#include <memory>

#include "cli/options/settings.hpp"
#include "model/results/progress.hpp"

namespace fatune::cli {

/// One at a time. Silent with --quiet, redrawn in place on a terminal, a plain line now and then
/// elsewhere.
class LiveProgress {
 public:
  explicit LiveProgress(const Settings& settings);
  ~LiveProgress();
  LiveProgress(const LiveProgress&) = delete;
  LiveProgress& operator=(const LiveProgress&) = delete;
  void show(const SweepProgress& progress);

 private:
  bool silent_;
};

}  // namespace fatune::cli
