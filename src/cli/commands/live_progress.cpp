// live_progress.cpp - connects the progress display with the terminal and the log.
#include "cli/commands/live_progress.hpp"

#include <iostream>
#include <optional>

#include <sys/ioctl.h>
#include <unistd.h>

#include "core/log.hpp"
#include "out/text/progress.hpp"

namespace fatune::cli {
namespace {

constexpr std::size_t kColumnsUnknown = 100;

/// The log's interlude takes plain functions, so the display that they clear and redraw lives here.
std::optional<ProgressDisplay>& display() {
  static std::optional<ProgressDisplay> instance;
  return instance;
}

std::size_t terminal_columns() {
  winsize size{};
  const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : kColumnsUnknown;
}

}  // namespace

LiveProgress::LiveProgress(const Settings& settings) : silent_(settings.quiet) {
  if (silent_) return;
  display().emplace(std::cerr, settings.live ? ProgressStyle::kLive : ProgressStyle::kPlain,
                    terminal_columns, settings.live_paint);
  log::set_interlude([] { display()->clear(); }, [] { display()->draw(); });
}

LiveProgress::~LiveProgress() {
  if (silent_) return;
  log::set_interlude(nullptr, nullptr);
  display()->clear();
  display().reset();
}

void LiveProgress::show(const SweepProgress& progress) {
  if (!silent_) display()->show(progress);
}

}  // namespace fatune::cli
