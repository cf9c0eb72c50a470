// device_team.cpp: Gives a candidate to a free device, and leaves out devices that fail.
#include "tune/evaluate/device_team.hpp"

#include <algorithm>
#include <future>
#include <utility>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/log.hpp"
#include "core/text.hpp"

namespace fatune {
DeviceTeam::DeviceTeam(std::vector<TeamDevice> devices) {
  FATUNE_CHECK(!devices.empty(), "a search has at least one device");
  for (TeamDevice& device : devices) seats_.push_back({std::move(device)});
}

Status DeviceTeam::tolerate_failure(Seat& seat, Status done) {
  if (done || is_home(seat)) return done;
  log::warn(fmt::format("{} measures no more: {}", seat.device.name, done.error().message));
  seat.device.worker->end();
  seat.works = false;
  seat.left_out = true;
  return {};
}

Result<std::vector<Environment>> DeviceTeam::hello(const Note& note) {
  std::vector<Environment> environments;
  for (Seat& seat : seats_) {
    auto greeting = seat.device.worker->hello(note);
    if (!greeting && is_home(seat) && greeting.error().kind == ErrorKind::kDevice)
      return with_context(greeting.error(), "opening " + seat.device.name);
    FATUNE_TRY_STATUS(tolerate_failure(seat, greeting ? Status() : Status(greeting.error())));
    if (!greeting) continue;
    seat.uuid = greeting->device_uuid;
    environments.push_back(*std::move(greeting));
  }
  return environments;
}

void DeviceTeam::expect(const ExpectOrder& expected) {
  begun_ = false;
  for (Seat& seat : seats_) {
    if (!seat.left_out) static_cast<void>(seat.device.worker->expect(expected));
  }
}

Status DeviceTeam::begin(const BeginOrder& order, const Note& note) {
  std::vector<std::future<Status>> others(seats_.size());
  for (std::size_t i = 1; i < seats_.size(); ++i) {
    if (seats_[i].left_out) continue;
    others[i] = std::async(std::launch::async, [&order, worker = seats_[i].device.worker.get()] {
      return worker->begin(order, nullptr);
    });
  }
  const Status at_home = home().begin(order, note);
  for (std::size_t i = 1; i < seats_.size(); ++i) {
    if (others[i].valid()) FATUNE_TRY_STATUS(tolerate_failure(seats_[i], others[i].get()));
  }
  for (Seat& seat : seats_) seat.free_since = Clock::now();
  begun_ = at_home.operator bool();
  return at_home;
}

void DeviceTeam::end() {
  for (Seat& seat : seats_) {
    seat.device.worker->end();
    seat.works = false;
  }
}

std::optional<std::size_t> DeviceTeam::idle() const {
  if (!begun_) return std::nullopt;
  for (std::size_t i = 0; i < seats_.size(); ++i) {
    if (!seats_[i].works && !seats_[i].left_out) return i;
  }
  return std::nullopt;
}

bool DeviceTeam::busy() const { return std::ranges::any_of(seats_, &Seat::works); }

Result<bool> DeviceTeam::start_run(std::size_t device, const RunOrder& order, const Note& note) {
  Seat& seat = seats_.at(device);
  FATUNE_TRY_STATUS(tolerate_failure(seat, seat.device.worker->start_run(order, note)));
  seat.works = !seat.left_out;
  return seat.works;
}

std::vector<pollfd> DeviceTeam::descriptors() {
  std::vector<pollfd> wanted;
  for (Seat& seat : seats_) {
    if (seat.works) wanted.push_back({seat.device.worker->descriptor(), POLLIN, 0});
  }
  return wanted;
}

Result<std::optional<DeviceTeam::Answer>> DeviceTeam::finish(const Note& note) {
  for (std::size_t i = 0; i < seats_.size(); ++i) {
    Seat& seat = seats_[i];
    if (!seat.works) continue;
    auto reply = seat.device.worker->finish(note);
    FATUNE_TRY_STATUS(tolerate_failure(seat, reply ? Status() : Status(reply.error())));
    if (!reply) return std::optional(Answer{i, {}, {}});
    if (!*reply) continue;
    seat.works = false;
    seat.free_since = Clock::now();
    ++seat.measured;
    Answer answer{i, **std::move(reply), {}};
    if (!is_home(seat)) answer.measured_on = MeasuredOn{seat.device.name, seat.uuid};
    return std::optional(std::move(answer));
  }
  return std::optional<Answer>();
}

std::chrono::steady_clock::time_point DeviceTeam::free_since(std::size_t device) const {
  return seats_.at(device).free_since;
}

std::string DeviceTeam::summary() const {
  if (seats_.size() == 1) return "";
  std::vector<std::string> words;
  for (const Seat& seat : seats_) {
    words.push_back(
        fmt::format("{} measured {}", seat.device.name, counted(seat.measured, "candidate")));
  }
  return join(words, ", ");
}

}  // namespace fatune
