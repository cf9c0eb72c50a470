// worker_link.cpp - starts, talks to and ends the device worker's process.
#include "tune/evaluate/worker_link.hpp"

#include <utility>

#include <nlohmann/json.hpp>

#include "core/file.hpp"
#include "core/log.hpp"
#include "worker/protocol/messages.hpp"

namespace fatune {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kTick{200};

class ProcessLink : public WorkerLink {
 public:
  ProcessLink(int ordinal, std::filesystem::path log_folder)
      : ordinal_(ordinal), log_folder_(std::move(log_folder)) {}

  Status start() override {
    ChildCommand command;
    command.program = executable_path();
    command.arguments = {"device-worker", std::to_string(ordinal_)};
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

  std::string stop() override {
    if (!child_.started()) return "it had not been started";
    // A process that has just closed its channel is given a moment to say how it ended.
    auto end = child_.wait(std::chrono::milliseconds(300));
    if (!end) end = child_.kill();
    child_ = Child();
    return end ? describe(*end)
               : "it cannot be ended: stuck in the driver (see dmesg for Xid messages)";
  }

 private:
  int ordinal_;
  std::filesystem::path log_folder_;
  Child child_;
};

}  // namespace

std::unique_ptr<WorkerLink> make_process_link(int ordinal,
                                              const std::filesystem::path& log_folder) {
  return std::make_unique<ProcessLink>(ordinal, log_folder);
}

Result<Json> ask(WorkerLink& link, const Json& order, std::chrono::seconds patience,
                 const std::function<void(std::string_view)>& note) {
  FATUNE_TRY_STATUS(link.send(order));
  auto deadline = Clock::now() + patience;
  while (Clock::now() < deadline) {
    auto message = link.receive(kTick);
    if (!message) {
      return device_error("the device worker died (" + link.stop() + ") at '" +
                          message_type(order) + "'; its last words are in device-worker.log");
    }
    if (!*message) {
      if (note) note("");
      continue;
    }
    const std::string type = message_type(**message);
    if (type == "error") {
      FATUNE_TRY(ErrorReply reply, read_message<ErrorReply>(**message));
      return std::move(reply.error);
    }
    if (type != "progress") return *std::move(*message);
    FATUNE_TRY(const ProgressNote progress, read_message<ProgressNote>(**message));
    if (note) note(progress.phase);
    deadline = Clock::now() + patience;
  }
  link.stop();
  return device_error("the device worker has not answered '" + message_type(order) + "' for " +
                      std::to_string(patience.count()) + " s");
}

}  // namespace fatune
