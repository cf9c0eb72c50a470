// device_worker.cpp - orders to answers, with a new process wherever the old one ended.
#include "tune/evaluate/device_worker.hpp"

#include <utility>

#include <nlohmann/json.hpp>
#include <poll.h>

#include "core/fields.hpp"
#include "core/log.hpp"

namespace fatune {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::seconds;

constexpr seconds kHelloPatience{
    60};  // a driver without persistence mode takes some seconds to wake up
constexpr seconds kBeginPatience{
    300};  // references of the largest problems, on the host and on the device
constexpr seconds kRoundsPatience{120};  // without a progress note
constexpr seconds kRunPatience{
    30};  // without a note, beyond the deadlines that the worker itself keeps
constexpr int kLaunchesWaitedFor = 2;  // deadlines that may pass between two notes
constexpr seconds kGrace{2};           // SIGKILL follows the worker's own deadline by this much

}  // namespace

Result<Environment> DeviceWorker::hello(const Note& note) {
  FATUNE_TRY(const Json answer, ask(*link_, to_json(HelloOrder{}), kHelloPatience, note));
  FATUNE_TRY(DeviceReply reply, read_message<DeviceReply>(answer));
  greeted_ = true;
  return std::move(reply.environment);
}

Status DeviceWorker::ensure_ready(const Note& note) {
  if (!link_->running()) {
    greeted_ = ready_ = false;
    if (deaths_ >= kMostDeaths) {
      return device_error("the device worker ended " + std::to_string(deaths_) +
                          " times in a row: the GPU is out of order or every candidate breaks it "
                          "(see device-worker.log, nvidia-smi and Xid messages in dmesg)");
    }
    FATUNE_TRY_STATUS(link_->start());
  }
  if (!greeted_) {
    FATUNE_TRY(const Environment environment, hello(note));
    static_cast<void>(environment);
  }
  if (ready_ || !problem_) return {};
  FATUNE_TRY(const Json answer, ask(*link_, to_json(*problem_), kBeginPatience, note));
  FATUNE_TRY(const ReadyReply reply, read_message<ReadyReply>(answer));
  log::debug("the reference takes " + std::to_string(reply.reference_us) + " us");
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
  greeted_ = ready_ = false;
  if (link_->running()) link_->stop();
}

Status DeviceWorker::start_run(const RunOrder& order, const Note& note) {
  FATUNE_TRY_STATUS(ensure_ready(note));
  run_deadline_ = Clock::now();  // moved on by finish(), also when sending fails because the
                                 // process died just now
  if (link_->send(to_json(order))) {
    const auto launches =
        std::chrono::duration<double>(kLaunchesWaitedFor * problem_->kernel_deadline_s);
    *run_deadline_ += kRunPatience + kGrace + std::chrono::duration_cast<Clock::duration>(launches);
  }
  return {};
}

RunReply DeviceWorker::died(Outcome outcome, const std::string& how) {
  run_deadline_.reset();
  ready_ = greeted_ = false;
  ++deaths_;
  RunReply reply;
  reply.outcome = outcome;
  reply.fatal = true;
  reply.reason = how;
  return reply;
}

Result<std::optional<RunReply>> DeviceWorker::finish(const Note& note) {
  auto message = link_->receive(std::chrono::milliseconds(0));
  if (!message) {
    const std::string how = link_->stop();
    return std::optional(died(Outcome::kCrashed, "the device worker died: " + how));
  }
  if (!*message) {
    if (Clock::now() < *run_deadline_) return std::optional<RunReply>();
    const std::string how = link_->stop();
    return std::optional(died(
        Outcome::kTimeout, "no answer before the deadline; the device worker was ended: " + how));
  }
  const std::string type = message_type(**message);
  if (type == "progress") {
    FATUNE_TRY(const ProgressNote progress, read_message<ProgressNote>(**message));
    if (note) note(progress.phase);
    const auto launches =
        std::chrono::duration<double>(kLaunchesWaitedFor * problem_->kernel_deadline_s);
    run_deadline_ = Clock::now() + kRunPatience + kGrace +
                    std::chrono::duration_cast<Clock::duration>(launches);
    return std::optional<RunReply>();
  }
  if (type == "error") {
    FATUNE_TRY(ErrorReply reply, read_message<ErrorReply>(**message));
    return std::move(reply.error);
  }
  FATUNE_TRY(RunReply reply, read_message<RunReply>(**message));
  run_deadline_.reset();
  if (reply.fatal) {
    link_->stop();
    greeted_ = ready_ = false;
    ++deaths_;
  } else {
    deaths_ = 0;
  }
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
  FATUNE_TRY(const Json answer, ask(*link_, to_json(order), kRoundsPatience, note));
  return read_message<RoundsReply>(answer);
}

}  // namespace fatune
