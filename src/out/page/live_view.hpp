// live_view.hpp - a journal that grows and the latest progress to the page's newest state.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string>

#include "model/results/sweep_result.hpp"
#include "out/page/page_json.hpp"

namespace fatune {

/// Safe to use from several threads; show() never waits for the journal. That is read again when it
/// has grown, and at most once in kLeastPause, so that the cost of viewers is bounded.
class LiveView {
 public:
  static constexpr std::chrono::milliseconds kLeastPause{800};  ///< chosen: pages ask once a second

  explicit LiveView(std::filesystem::path folder) : folder_(std::move(folder)) {}
  void show(const SweepProgress& progress);
  void finish();

  struct State {
    std::string json;  ///< fatune.page/2 with "live"
    std::string tag;   ///< differs where json does
    bool final = false;
  };
  State state();

 private:
  void read_journal(bool finished);

  std::filesystem::path folder_;
  std::mutex progress_mutex_;  ///< of the next two; taken last
  SweepProgress progress_;
  bool finished_ = false;
  std::mutex journal_mutex_;  ///< of the others
  std::uintmax_t size_ = 0;   ///< of the journal, when it was read
  std::chrono::steady_clock::time_point read_at_{};
  DocumentHead head_;
  std::string runs_ = "[]";  ///< JSON
};

}  // namespace fatune
