// device_worker.hpp: Sends orders to a device worker process, and restarts the process when it
// dies.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/child.hpp"
#include "core/json.hpp"
#include "core/result.hpp"
#include "worker/protocol/messages.hpp"

namespace fatune {

/// A source of worker processes, one at a time.
class WorkerLink {
 public:
  virtual ~WorkerLink() = default;
  virtual Status start() = 0;
  virtual bool running() const = 0;
  virtual Status send(const Json& order) = 0;
  virtual Result<std::optional<Json>> receive(std::chrono::milliseconds timeout) = 0;
  virtual int descriptor() = 0;
  /// Ends the process, by force after `moment`, and describes how the process ended.
  virtual std::string stop(std::chrono::milliseconds moment) = 0;
  /// Kills the process without waiting; the next start() or stop() waits for its end.
  virtual void dismiss() = 0;
};

/// Starts `fatune device-worker ORDINAL` with stderr in a file of the log folder. Without an
/// ordinal the worker sees all devices and opens none.
std::unique_ptr<WorkerLink> make_process_link(std::optional<int> ordinal,
                                              const std::filesystem::path& log_folder);

using Note = std::function<void(std::string_view phase)>;

/// Sends an order and waits for the answer. Progress goes to `note`; an "error" answer is returned
/// as the error. A worker that dies or is silent for longer than `patience` is stopped, which is a
/// device error.
Result<Json> ask(WorkerLink& link, const Json& order, std::chrono::seconds patience,
                 const Note& note);
template <typename Reply>
Result<Reply> ask_for(WorkerLink& link, const Json& order, std::chrono::seconds patience,
                      const Note& note) {
  FATUNE_TRY(const Json answer, ask(link, order, patience, note));
  return read_message<Reply>(answer);
}

/// Replaces the process after a fatal answer, a crash or a missed deadline, and counts deaths in a
/// row.
class DeviceWorker {
 public:
  /// In a row, after which the device counts as lost; chosen.
  static constexpr int kMostDeaths = 10;

  explicit DeviceWorker(std::unique_ptr<WorkerLink> link) : link_(std::move(link)) {}

  Result<Environment> hello(const Note& note);
  /// Starts a process before its first order without waiting. The process opens the device and
  /// expected libraries meanwhile. No effect if a process runs.
  Status prepare(const ExpectOrder& expected);
  /// Starts a process if none runs, and tells an idle process what to expect.
  Status expect(const ExpectOrder& expected);
  /// Waits until expected libraries are open, after which the process leaves the device alone. No
  /// effect if no process runs.
  Status settle(const Note& note);
  /// Starts a process if none runs. The process computes the references of `order`, even if the
  /// previous order was equal.
  Status begin(const BeginOrder& order, const Note& note);
  /// Ends the process; the next begin() or run starts a fresh one.
  void end();
  /// Ends the process without waiting, because the driver takes half a second to clear the device.
  /// Timing on this device must wait with end() first.
  void dismiss();

  /// Sends a candidate; poll descriptor(), then call finish().
  Status start_run(const RunOrder& order, const Note& note);
  bool busy() const { return run_deadline_.has_value(); }
  int descriptor() { return link_->descriptor(); }
  /// Returns the answer once there is one: also for a dead process (crashed) and a silent one
  /// (timeout).
  Result<std::optional<RunReply>> finish(const Note& note);
  /// Calls start_run(), then finish() until there is an answer.
  Result<RunReply> run(const RunOrder& order, const Note& note);
  Result<RoundsReply> rounds(const RoundsOrder& order, const Note& note);

 private:
  Status start_process();
  Status say_hello();
  Status tell(const ExpectOrder& expected);
  Status greet(const Note& note);
  Status ensure_ready(const Note& note);
  std::chrono::steady_clock::time_point next_deadline() const;
  RunReply died(Outcome outcome, const std::string& how);

  std::unique_ptr<WorkerLink> link_;
  std::optional<BeginOrder> problem_;
  bool said_hello_ = false, greeted_ = false, ready_ = false;  ///< of the current process
  int expecting_ = 0;  ///< number of outstanding answers to ExpectOrders
  std::optional<std::chrono::steady_clock::time_point> run_deadline_;
  int deaths_ = 0;
};

}  // namespace fatune
