// device_worker_main.cpp: Answers orders in the device worker until the parent is gone.
#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include <malloc.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "core/channel.hpp"
#include "core/child.hpp"
#include "core/confinement.hpp"
#include "core/fields.hpp"
#include "core/log.hpp"
#include "core/parallel.hpp"
#include "gpu/driver.hpp"
#include "worker/device/device_problem.hpp"
#include "worker/device/device_session.hpp"
#include "worker/device/failure.hpp"
#include "worker/protocol/messages.hpp"
#include "worker/runs/runs.hpp"

namespace fatune {
namespace {

/// Chosen: the shortest that Linux takes. Otherwise a thread that verifies would wait for the slice
/// of a compile process on every core (docs/decisions/0052-threads-that-verify.md).
constexpr std::chrono::microseconds kTimeSlice{100};
/// The exit code after a fatal answer, as tools for time limits use it.
constexpr int kGivenUp = 124;

/// Keeps freed memory with the process. The inputs and references of each problem are as large as
/// the last ones, and a new page costs more than writing it.
void keep_freed_memory() {
  ::mallopt(M_MMAP_MAX, 0);
  ::mallopt(M_TRIM_THRESHOLD, -1);
  ::mallopt(M_ARENA_MAX, 1);
}

class Worker {
 public:
  explicit Worker(Channel channel) : channel_(std::move(channel)) {}

  /// Serves until the parent closes the channel.
  int serve() {
    for (;;) {
      auto order = channel_.receive();
      if (!order) return 0;
      auto answer = handle(*order);
      if (!answer) answer = to_json(ErrorReply{answer.error()});
      if (!channel_.send(*answer)) return 0;
      // No destructor may wait for a device that no longer answers.
      if (ends_) ::_exit(kGivenUp);
    }
  }

 private:
  Result<Json> handle(const Json& order) {
    const std::string type = message_type(order);
    if (type == "list") return list();
    if (type == "availability") return look(order);
    if (type == "hello") return hello();
    if (type == "expect") return expect(order);
    if (type == "begin") return begin(order);
    if (type == "run") return run(order);
    if (type == "rounds") return rounds(order);
    return usage_error("unknown order '" + type + "'");
  }

  Result<Json> list() {
    FATUNE_TRY(const int count, gpu::device_count());
    DevicesReply reply;
    for (int ordinal = 0; ordinal < count; ++ordinal) {
      FATUNE_TRY(const gpu::DeviceFacts facts, gpu::device_facts(ordinal));
      reply.devices.push_back({environment_of(facts), unfit_reason(facts)});
    }
    return to_json(reply);
  }

  Result<Json> look(const Json& message) {
    FATUNE_TRY(const AvailabilityOrder order, read_message<AvailabilityOrder>(message));
    return to_json(AvailabilityReply{availability(order)});
  }

  Result<Json> hello() {
    FATUNE_TRY(session_, open_device_session());
    session_->sampler->set_hang_handler([this] { end_hung(); });
    Environment environment = environment_of(session_->facts);
    environment.power_limit_w = session_->telemetry.power_limit_w().value_or(0);
    return to_json(DeviceReply{environment});
  }

  Result<Json> begin(const Json& message) {
    FATUNE_TRY(const BeginOrder order, read_message<BeginOrder>(message));
    if (!session_) return usage_error("'begin' before 'hello'");
    session_->outside.begin(outside_setting(*session_, order.problem, order.custom));
    problem_.reset();
    hang_answer_ = [] {
      return to_json(ErrorReply{device_error("the reference kernel does not come to an end")});
    };
    auto problem = DeviceProblem::begin(*session_, order);
    if (!problem) return fail(std::move(problem).error());
    problem_ = *std::move(problem);
    return to_json(ReadyReply{problem_->reference_time().value});
  }

  /// Opens what the next orders need. A failure shows when the program is needed.
  Result<Json> expect(const Json& message) {
    FATUNE_TRY(const ExpectOrder order, read_message<ExpectOrder>(message));
    if (!session_) return to_json(ExpectedReply{});
    session_->outside.expect(order.programs, outside_setting(*session_, order.problem, {}));
    if (const Attention* attention = order.problem.attention())
      load_products(*session_, *attention);
    return to_json(ExpectedReply{});
  }

  Result<Json> run(const Json& message) {
    FATUNE_TRY(const RunOrder order, read_message<RunOrder>(message));
    if (!problem_) return usage_error("'run' before 'begin'");
    log::debug("running " + order.id);
    hang_answer_ = [this] {
      RunReply reply;
      record_failure(hang_failure(problem_->kernel_limit()), reply);
      reply.fatal = true;
      return to_json(reply);
    };
    RunReply reply = run_candidate(*session_, *problem_, order, noter());
    ends_ = reply.fatal;
    return to_json(reply);
  }

  Result<Json> rounds(const Json& message) {
    FATUNE_TRY(const RoundsOrder order, read_message<RoundsOrder>(message));
    if (!problem_) return usage_error("'rounds' before 'begin'");
    hang_answer_ = [] {
      return to_json(ErrorReply{device_error("a contestant of the final phase hung")});
    };
    auto reply = run_rounds(*session_, *problem_, order, noter());
    if (!reply) return fail(std::move(reply).error());
    return to_json(*reply);
  }

  PhaseNote noter() {
    return [this](std::string_view phase) {
      // A parent that is gone shows at the next receive().
      static_cast<void>(channel_.send(to_json(ProgressNote{std::string(phase)})));
    };
  }

  /// Replies and ends the process without destructors, which would wait for the hung kernel.
  [[noreturn]] void end_hung() {
    static_cast<void>(channel_.send(hang_answer_()));
    ::_exit(kGivenUp);
  }

  /// Answers with the error, and ends the process if the device is out of use.
  Json fail(Error error) {
    ends_ = gpu::context_broken(session_->stream.raw());
    return to_json(ErrorReply{std::move(error)});
  }

  Channel channel_;
  std::unique_ptr<DeviceSession> session_;
  std::unique_ptr<DeviceProblem> problem_;
  std::function<Json()> hang_answer_;  ///< answer to the present order if it hangs
  bool ends_ = false;
};

}  // namespace

int device_worker_main(std::span<const std::string> folders) {
  set_time_slice(kTimeSlice);
  keep_freed_memory();
  // The driver may have to make its device files first, by a program of root that a confined
  // process cannot start. An error is the answer to the first order.
  static_cast<void>(gpu::load_driver());
  confine_writing({folders.begin(), folders.end()});
  return Worker(Channel(Child::kChannelDescriptor)).serve();
}

}  // namespace fatune
