// live_progress.hpp: Shows progress on stderr, and makes way for log messages.
#pragma once

#include <iostream>
#include <optional>

#include <unistd.h>

#include "cli/options/settings.hpp"
#include "core/log.hpp"
#include "report/text/progress.hpp"

namespace fatune::cli {

/// Progress display: silent with --quiet, redrawn in place on a terminal, plain lines elsewhere.
class LiveProgress {
 public:
  explicit LiveProgress(const Settings& settings) {
    if (settings.quiet) return;
    display_.emplace(
        std::cerr, settings.live ? ProgressStyle::kLive : ProgressStyle::kPlain,
        [] { return terminal_columns(STDERR_FILENO, kColumnsUnknown); }, settings.live_paint);
    log::set_interlude([this] { display_->clear(); }, [this] { display_->draw(); });
  }
  ~LiveProgress() {
    if (!display_) return;
    log::set_interlude(nullptr, nullptr);
    display_->clear();
  }
  LiveProgress(const LiveProgress&) = delete;
  LiveProgress& operator=(const LiveProgress&) = delete;
  void show(const SweepProgress& progress) {
    if (display_) display_->show(progress);
  }

 private:
  static constexpr std::size_t kColumnsUnknown = 100;

  std::optional<ProgressDisplay> display_;
};

}  // namespace fatune::cli
