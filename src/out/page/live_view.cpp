// live_view.cpp - reads the journal when it has grown.
#include "out/page/live_view.hpp"

#include <array>
#include <system_error>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "core/hash.hpp"
#include "core/log.hpp"

namespace fatune {

void LiveView::show(const SweepProgress& progress) {
  const std::lock_guard lock(progress_mutex_);
  progress_ = progress;
  progress_.best_history_us.clear();  // the page has every candidate
}

void LiveView::finish() {
  const std::lock_guard lock(journal_mutex_);
  size_ = 0;  // once more, with all that it can tell
  const std::lock_guard progress_lock(progress_mutex_);
  finished_ = true;
}

/// An unreadable journal, one that does not exist yet say, leaves what was known.
void LiveView::read_journal(bool finished) {
  const auto now = std::chrono::steady_clock::now();
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(folder_ / "journal.jsonl", error);
  const bool soon = !finished && now - read_at_ < kLeastPause;
  if (error || size == size_ || soon) return;
  auto run = load_page_run(folder_);
  if (!run) {
    log::debug("the live page keeps what it has: " + run.error().message);
    return;
  }
  const std::array runs = {std::move(*run)};
  const Json page = to_json(page_document(runs, finished ? Depth::kFull : Depth::kQuick, {}));
  head_ = {runs.front().header.environment.fatune, runs.front().header.plan.command,
           page["recorded"].get<bool>()};
  runs_ = dump(page["runs"]);
  size_ = size;
  read_at_ = std::chrono::steady_clock::now();
}

LiveView::State LiveView::state() {
  const std::lock_guard lock(journal_mutex_);
  const auto [progress, finished] = [this] {
    const std::lock_guard progress_lock(progress_mutex_);
    return std::pair(progress_, finished_);
  }();
  read_journal(finished);
  State state;
  state.json = dump(to_json(PageDocument{head_, PageLive{progress, finished}, {}}));
  state.json.replace(state.json.rfind("[]"), 2, runs_);  // the runs, which are costly to make
  state.tag = "\"" + sha256_hex(state.json).substr(0, 16) + "\"";
  state.final = finished;
  return state;
}

}  // namespace fatune
