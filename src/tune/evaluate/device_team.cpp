// device_team.cpp: Gives candidates to free devices, and leaves out devices that fail.
#include "tune/evaluate/device_team.hpp"

#include <algorithm>
#include <future>
#include <utility>

#include <fmt/format.h>

#include "core/log.hpp"
#include "core/text.hpp"

namespace fatune {
DeviceTeam::DeviceTeam(std::vector<TeamDevice> devices) {
  FATUNE_CHECK(!devices.empty(), "a search has at least one device");
  for (TeamDevice& device : devices) executors_.push_back({std::move(device)});
}

Status DeviceTeam::tolerate_failure(Executor& executor, Status done) {
  if (done || is_home(executor)) return done;
  log::warn(fmt::format("{} measures no more: {}", executor.device.name, done.error().message));
  executor.device.worker->end();
  executor.works = false;
  executor.left_out = true;
  return {};
}

Result<std::vector<Environment>> DeviceTeam::hello(const Note& note) {
  std::vector<Environment> environments;
  for (Executor& executor : executors_) {
    auto greeting = executor.device.worker->hello(note);
    if (!greeting && is_home(executor) && greeting.error().kind == ErrorKind::kDevice)
      return with_context(greeting.error(), "opening " + executor.device.name);
    FATUNE_TRY_STATUS(tolerate_failure(executor, greeting ? Status() : Status(greeting.error())));
    if (!greeting) continue;
    executor.uuid = greeting->device_uuid;
    environments.push_back(*std::move(greeting));
  }
  return environments;
}

void DeviceTeam::expect(const ExpectOrder& expected) {
  begun_ = false;
  for (Executor& executor : executors_) {
    if (!executor.left_out) static_cast<void>(executor.device.worker->expect(expected));
  }
}

Status DeviceTeam::begin(const BeginOrder& order, const Note& note) {
  std::vector<std::future<Status>> others(executors_.size());
  for (std::size_t i = 1; i < executors_.size(); ++i) {
    if (executors_[i].left_out) continue;
    others[i] =
        std::async(std::launch::async, [&order, worker = executors_[i].device.worker.get()] {
          return worker->begin(order, nullptr);
        });
  }
  const Status at_home = home().begin(order, note);
  for (std::size_t i = 1; i < executors_.size(); ++i) {
    if (others[i].valid()) FATUNE_TRY_STATUS(tolerate_failure(executors_[i], others[i].get()));
  }
  for (Executor& executor : executors_) executor.free_since = Clock::now();
  begun_ = at_home.operator bool();
  return at_home;
}

void DeviceTeam::end() {
  for (Executor& executor : executors_) {
    executor.device.worker->end();
    executor.works = false;
  }
}

std::optional<std::size_t> DeviceTeam::idle() const {
  if (!begun_) return std::nullopt;
  for (std::size_t i = 0; i < executors_.size(); ++i) {
    if (!executors_[i].works && !executors_[i].left_out) return i;
  }
  return std::nullopt;
}

bool DeviceTeam::busy() const { return std::ranges::any_of(executors_, &Executor::works); }

Result<bool> DeviceTeam::start_run(std::size_t device, const RunOrder& order, const Note& note) {
  Executor& executor = executors_.at(device);
  FATUNE_TRY_STATUS(tolerate_failure(executor, executor.device.worker->start_run(order, note)));
  executor.works = !executor.left_out;
  return executor.works;
}

std::vector<pollfd> DeviceTeam::descriptors() {
  std::vector<pollfd> wanted;
  for (Executor& executor : executors_) {
    if (executor.works) wanted.push_back({executor.device.worker->descriptor(), POLLIN, 0});
  }
  return wanted;
}

Result<std::optional<DeviceTeam::Answer>> DeviceTeam::finish(const Note& note) {
  for (std::size_t i = 0; i < executors_.size(); ++i) {
    Executor& executor = executors_[i];
    if (!executor.works) continue;
    auto reply = executor.device.worker->finish(note);
    FATUNE_TRY_STATUS(tolerate_failure(executor, reply ? Status() : Status(reply.error())));
    if (!reply) return std::optional(Answer{i, {}, {}});
    if (!*reply) continue;
    executor.works = false;
    executor.free_since = Clock::now();
    ++executor.measured;
    Answer answer{i, **std::move(reply), {}};
    if (!is_home(executor)) answer.measured_on = MeasuredOn{executor.device.name, executor.uuid};
    return std::optional(std::move(answer));
  }
  return std::optional<Answer>();
}

std::chrono::steady_clock::time_point DeviceTeam::free_since(std::size_t device) const {
  return executors_.at(device).free_since;
}

std::string DeviceTeam::summary() const {
  if (executors_.size() == 1) return "";
  std::vector<std::string> words;
  for (const Executor& executor : executors_) {
    words.push_back(fmt::format("{} measured {}", executor.device.name,
                                counted(executor.measured, "candidate")));
  }
  return join(words, ", ");
}

}  // namespace fatune
