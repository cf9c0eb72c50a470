// device_worker.cpp: Exchanges orders and answers with a worker, and replaces workers that ended.
#include "tune/evaluate/device_worker.hpp"

#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <poll.h>

#include "core/fields.hpp"
#include "core/file.hpp"
#include "core/log.hpp"
#include "worker/protocol/compilation.hpp"

namespace fatune {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kTick{200};

class ProcessLink : public WorkerLink {
 public:
  ProcessLink(std::optional<int> ordinal, std::filesystem::path log_folder)
      : ordinal_(ordinal), log_folder_(std::move(log_folder)) {}

  Status start() override {
    leaving_.kill();
    ChildCommand command;
    command.program = executable_path();
    command.arguments = {"device-worker"};
    if (ordinal_) command.arguments.push_back(std::to_string(*ordinal_));
    command.inherited = kWorkerEnvironment;
    if (!log_folder_.empty()) command.stderr_file = log_folder_ / "device-worker.log";
    auto child = Child::start(command);
    if (!child) return with_context(std::move(child).error(), "starting the device worker");
    child_ = *std::move(child);
    return {};
  }

  bool running() const override { return child_.started(); }
  Status send(const Json& order) override { return child_.channel().send(order); }
  Result<std::optional<Json>> receive(std::chrono::milliseconds timeout) override {
    return child_.channel().receive(timeout);
  }
  int descriptor() override { return child_.channel().descriptor(); }

  std::string stop(std::chrono::milliseconds moment) override {
    leaving_.kill();
    if (!child_.started()) return "it had not been started";
    auto end = child_.wait(moment);
    if (!end) end = child_.kill();
    child_ = Child();
    return end ? describe(*end)
               : "it cannot be ended: stuck in the driver (see dmesg for Xid messages)";
  }

  void dismiss() override {
    child_.begin_kill();
    leaving_ = std::exchange(child_, Child());
  }

 private:
  std::optional<int> ordinal_;
  std::filesystem::path log_folder_;
  Child child_, leaving_;
};

using std::chrono::seconds;

// Chosen: a driver without persistence mode takes some seconds to start.
constexpr seconds kHelloPatience{60};
// Chosen: covers the references of the largest problems, on the host and on the device.
constexpr seconds kBeginPatience{300};
// Chosen: longest time without a progress note, beyond the deadlines that a worker keeps in a run.
constexpr seconds kRoundsPatience{120}, kRunPatience{30};
// Chosen: time for a process that has just closed its channel to end.
constexpr std::chrono::milliseconds kMoment{300};
// Chosen: more time for a run of a baseline, which may compile its kernels for 60 s.
constexpr seconds kOpenPatience{40};
// Chosen: number of deadlines that may pass between two notes.
constexpr int kLaunchesWaitedFor = 2;
// Chosen: delay of SIGKILL after the worker's own deadline.
constexpr seconds kGrace{2};

/// Returns false for a progress note, which is passed on. An "error" answer is returned as the
/// error.
Result<bool> take_note(const Json& message, const Note& note) {
  const std::string type = message_type(message);
  if (type == "error") {
    FATUNE_TRY(ErrorReply reply, read_message<ErrorReply>(message));
    return std::move(reply.error);
  }
  if (type != "progress") return true;
  FATUNE_TRY(const ProgressNote progress, read_message<ProgressNote>(message));
  log::debug("the device worker: " + progress.phase);
  if (note) note(progress.phase);
  return false;
}

/// Waits for the answer to the order that `what` names.
Result<Json> await_answer(WorkerLink& link, const std::string& what, std::chrono::seconds patience,
                          const Note& note) {
  auto deadline = Clock::now() + patience;
  while (Clock::now() < deadline) {
    auto message = link.receive(kTick);
    if (!message) {
      return device_error(fmt::format(
          "the device worker died ({}) at '{}'; its last words are in device-worker.log",
          link.stop(kMoment), what));
    }
    if (!*message) {
      if (note) note("");
      continue;
    }
    FATUNE_TRY(const bool is_answer, take_note(**message, note));
    if (is_answer) return *std::move(*message);
    deadline = Clock::now() + patience;
  }
  link.stop(kMoment);
  return device_error(
      fmt::format("the device worker has not answered '{}' for {} s", what, patience.count()));
}

}  // namespace

std::unique_ptr<WorkerLink> make_process_link(std::optional<int> ordinal,
                                              const std::filesystem::path& log_folder) {
  return std::make_unique<ProcessLink>(ordinal, log_folder);
}

Result<Json> ask(WorkerLink& link, const Json& order, std::chrono::seconds patience,
                 const Note& note) {
  FATUNE_TRY_STATUS(link.send(order));
  return await_answer(link, message_type(order), patience, note);
}

Result<Environment> DeviceWorker::hello(const Note& note) {
  if (!said_hello_) FATUNE_TRY_STATUS(say_hello());
  FATUNE_TRY(const Json answer, await_answer(*link_, "hello", kHelloPatience, note));
  FATUNE_TRY(DeviceReply reply, read_message<DeviceReply>(answer));
  greeted_ = true;
  return std::move(reply.environment);
}

Status DeviceWorker::start_process() {
  said_hello_ = greeted_ = ready_ = false;
  expecting_ = 0;
  return link_->start();
}

Status DeviceWorker::say_hello() {
  said_hello_ = true;
  return link_->send(to_json(HelloOrder{}));
}

Status DeviceWorker::prepare(const ExpectOrder& expected) {
  if (link_->running()) return {};
  FATUNE_TRY_STATUS(start_process());
  FATUNE_TRY_STATUS(say_hello());
  return tell(expected);
}

Status DeviceWorker::expect(const ExpectOrder& expected) {
  return greeted_ && link_->running() ? tell(expected) : prepare(expected);
}

Status DeviceWorker::tell(const ExpectOrder& expected) {
  ++expecting_;
  return link_->send(to_json(expected));
}

Status DeviceWorker::settle(const Note& note) {
  if (!link_->running()) return {};
  if (!greeted_) FATUNE_TRY_STATUS(greet(note));
  for (; expecting_ > 0; --expecting_)
    FATUNE_TRY_STATUS(await_answer(*link_, "expect", kBeginPatience, note));
  return {};
}

/// Replaces a prepared process that cannot open the device, because a device in exclusive compute
/// mode takes one process at a time.
Status DeviceWorker::greet(const Note& note) {
  const bool prepared = said_hello_;
  auto greeting = hello(note);
  if (!greeting && prepared) {
    end();
    FATUNE_TRY_STATUS(start_process());
    greeting = hello(note);
  }
  return greeting ? Status() : std::move(greeting).error();
}

Status DeviceWorker::ensure_ready(const Note& note) {
  if (!link_->running()) {
    if (deaths_ >= kMostDeaths) {
      return device_error(fmt::format(
          "the device worker ended {} times in a row: the GPU is out of order or every candidate "
          "breaks it (see device-worker.log, nvidia-smi and Xid messages in dmesg)",
          deaths_));
    }
    FATUNE_TRY_STATUS(start_process());
  }
  FATUNE_TRY_STATUS(settle(note));
  if (ready_ || !problem_) return {};
  FATUNE_TRY(const ReadyReply reply,
             ask_for<ReadyReply>(*link_, to_json(*problem_), kBeginPatience, note));
  log::debug(fmt::format("the reference takes {:f} us", reply.reference_us));
  ready_ = true;
  return {};
}

Status DeviceWorker::begin(const BeginOrder& order, const Note& note) {
  problem_ = order;
  ready_ = false;
  return ensure_ready(note);
}

void DeviceWorker::end() {
  run_deadline_.reset();
  link_->stop(std::chrono::milliseconds(0));
}

void DeviceWorker::dismiss() {
  run_deadline_.reset();
  link_->dismiss();
}

std::chrono::steady_clock::time_point DeviceWorker::next_deadline() const {
  const auto launches =
      std::chrono::duration<double>(kLaunchesWaitedFor * problem_->kernel_deadline_s);
  return Clock::now() + kRunPatience + kGrace +
         std::chrono::duration_cast<Clock::duration>(launches);
}

Status DeviceWorker::start_run(const RunOrder& order, const Note& note) {
  FATUNE_TRY_STATUS(ensure_ready(note));
  // Sending fails if the process has just died, which finish() reports at once.
  const seconds opening = order.program.outside ? kOpenPatience : seconds(0);
  run_deadline_ = link_->send(to_json(order)) ? next_deadline() + opening : Clock::now();
  return {};
}

RunReply DeviceWorker::died(Outcome outcome, const std::string& how) {
  RunReply reply;
  reply.outcome = outcome;
  reply.fatal = true;
  reply.reason = how + link_->stop(kMoment);
  end();
  ++deaths_;
  return reply;
}

Result<std::optional<RunReply>> DeviceWorker::finish(const Note& note) {
  auto message = link_->receive(std::chrono::milliseconds(0));
  if (!message) return std::optional(died(Outcome::kCrashed, "the device worker died: "));
  if (!*message) {
    if (Clock::now() < *run_deadline_) return std::optional<RunReply>();
    return std::optional(
        died(Outcome::kTimeout, "no answer before the deadline; the device worker was ended: "));
  }
  FATUNE_TRY(const bool is_answer, take_note(**message, note));
  if (!is_answer) {
    run_deadline_ = next_deadline();
    return std::optional<RunReply>();
  }
  FATUNE_TRY(RunReply reply, read_message<RunReply>(**message));
  run_deadline_.reset();
  deaths_ = reply.fatal ? deaths_ + 1 : 0;
  if (reply.fatal) end();
  return std::optional(std::move(reply));
}

Result<RunReply> DeviceWorker::run(const RunOrder& order, const Note& note) {
  FATUNE_TRY_STATUS(start_run(order, note));
  for (;;) {
    FATUNE_TRY(std::optional<RunReply> reply, finish(note));
    if (reply) return *std::move(reply);
    if (note) note("");
    pollfd wanted{link_->descriptor(), POLLIN, 0};
    ::poll(&wanted, 1, 200);
  }
}

Result<RoundsReply> DeviceWorker::rounds(const RoundsOrder& order, const Note& note) {
  FATUNE_TRY_STATUS(ensure_ready(note));
  return ask_for<RoundsReply>(*link_, to_json(order), kRoundsPatience, note);
}

}  // namespace fatune
