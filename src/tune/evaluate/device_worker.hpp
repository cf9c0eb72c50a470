// device_worker.hpp - the parent's side of the worker: always a live one that knows the problem.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.hpp"
#include "tune/evaluate/worker_link.hpp"
#include "worker/protocol/messages.hpp"

namespace fatune {

using Note = std::function<void(std::string_view phase)>;

/// Replaces the process after a fatal answer, a crash or a missed deadline; counts how often in a
/// row.
class DeviceWorker {
 public:
  static constexpr int kMostDeaths = 10;  ///< in a row, after which the device counts as lost

  explicit DeviceWorker(std::unique_ptr<WorkerLink> link) : link_(std::move(link)) {}

  /// Starts a process without waiting for it; hello() then asks for its device.
  Status launch() { return link_->start(); }
  Result<Environment> hello(const Note& note);
  /// A process that has been told `order`; a process that already has it is kept. Starts one when
  /// there is none.
  Status begin(const BeginOrder& order, const Note& note);
  /// Ends the process; the next begin() or run starts a fresh one.
  void end();

  /// Sends a candidate; poll descriptor(), then call finish().
  Status start_run(const RunOrder& order, const Note& note);
  bool busy() const { return run_deadline_.has_value(); }
  int descriptor() { return link_->descriptor(); }
  /// The answer, once there; also for a process that died (crashed) or was silent for too long
  /// (timeout).
  Result<std::optional<RunReply>> finish(const Note& note);
  /// start_run, then finish until there is an answer.
  Result<RunReply> run(const RunOrder& order, const Note& note);
  Result<RoundsReply> rounds(const RoundsOrder& order, const Note& note);

 private:
  Status ensure_ready(const Note& note);
  RunReply died(Outcome outcome, const std::string& how);

  std::unique_ptr<WorkerLink> link_;
  std::optional<BeginOrder> problem_;
  bool greeted_ = false, ready_ = false;  ///< of the present process
  std::optional<std::chrono::steady_clock::time_point> run_deadline_;
  int deaths_ = 0;
};

}  // namespace fatune
