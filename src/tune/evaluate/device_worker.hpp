// device_worker.hpp - the parent's side of the worker: orders to answers of a process that may die.
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

/// One worker process after another.
class WorkerLink {
 public:
  virtual ~WorkerLink() = default;
  virtual Status start() = 0;
  virtual bool running() const = 0;
  virtual Status send(const Json& order) = 0;
  virtual Result<std::optional<Json>> receive(std::chrono::milliseconds timeout) = 0;
  virtual int descriptor() = 0;
  /// Ends the process for sure, after it had `moment` to end by itself, and says how it ended.
  virtual std::string stop(std::chrono::milliseconds moment) = 0;
  /// Ends the process for sure; that it is gone is waited for by the next start() or stop().
  virtual void dismiss() = 0;
};

/// `fatune device-worker ORDINAL`, its stderr into a file of the log folder. Without an ordinal it
/// sees every device, and opens none.
std::unique_ptr<WorkerLink> make_process_link(std::optional<int> ordinal,
                                              const std::filesystem::path& log_folder);

using Note = std::function<void(std::string_view phase)>;

/// Sends an order and waits for the answer. Progress goes to `note`; an "error" answer comes back
/// as the error. A worker that dies or is silent for longer than `patience` is stopped and is a
/// device error.
Result<Json> ask(WorkerLink& link, const Json& order, std::chrono::seconds patience,
                 const Note& note);
template <typename Reply>
Result<Reply> ask_for(WorkerLink& link, const Json& order, std::chrono::seconds patience,
                      const Note& note) {
  FATUNE_TRY(const Json answer, ask(link, order, patience, note));
  return read_message<Reply>(answer);
}

/// Replaces the process after a fatal answer, a crash or a missed deadline; counts how often in a
/// row.
class DeviceWorker {
 public:
  static constexpr int kMostDeaths = 10;  ///< in a row, after which the device counts as lost

  explicit DeviceWorker(std::unique_ptr<WorkerLink> link) : link_(std::move(link)) {}

  Result<Environment> hello(const Note& note);
  /// Starts a process ahead of its first order, and waits for nothing; it opens the device and what
  /// it is to expect meanwhile. Nothing to do for one that runs.
  Status prepare(const ExpectOrder& expected);
  /// The same, and a process that runs and has no order in hand is told what to expect, too.
  Status expect(const ExpectOrder& expected);
  /// Waits until it has opened that, after which its process leaves the device alone; nothing to do
  /// where none runs.
  Status settle(const Note& note);
  /// Starts a process when there is none. It makes the references of `order`, also when it has been
  /// told the same before.
  Status begin(const BeginOrder& order, const Note& note);
  /// Ends the process; the next begin() or run starts a fresh one.
  void end();
  /// The same without waiting: the driver takes half a second to clear the device. Before anything
  /// is timed there, end() waits for that.
  void dismiss();

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
  Status start_process();
  Status say_hello();
  Status tell(const ExpectOrder& expected);
  Status greet(const Note& note);
  Status ensure_ready(const Note& note);
  std::chrono::steady_clock::time_point next_deadline() const;
  RunReply died(Outcome outcome, const std::string& how);

  std::unique_ptr<WorkerLink> link_;
  std::optional<BeginOrder> problem_;
  bool said_hello_ = false, greeted_ = false, ready_ = false;  ///< of the present process
  int expecting_ = 0;  ///< answers to what it was told to expect
  std::optional<std::chrono::steady_clock::time_point> run_deadline_;
  int deaths_ = 0;
};

}  // namespace fatune
