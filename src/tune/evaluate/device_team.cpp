// device_team.cpp - candidates to whichever device is free, and its times to those of home.
#include "tune/evaluate/device_team.hpp"

#include <algorithm>
#include <future>
#include <utility>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/log.hpp"
#include "core/text.hpp"
#include "model/results/statistics.hpp"
#include "model/results/sweep_result.hpp"

namespace fatune {
namespace {

void scale(std::optional<Timing>& timing, double by) {
  if (!timing) return;
  for (double* us : {&timing->median_us, &timing->q1_us, &timing->q3_us, &timing->min_us})
    *us *= by;
}

}  // namespace

DeviceTeam::DeviceTeam(std::vector<TeamDevice> devices) {
  FATUNE_CHECK(!devices.empty(), "somebody has to measure");
  for (TeamDevice& device : devices) seats_.push_back({std::move(device)});
}

Status DeviceTeam::bear(Seat& seat, Status done) {
  if (done || is_home(seat)) return done;
  log::warn(fmt::format("{} measures no more: {}", seat.device.name, done.error().message));
  seat.device.worker->end();
  seat.task = Task::kNone;
  seat.left_out = true;
  return {};
}

Result<std::vector<Environment>> DeviceTeam::hello(const Note& note) {
  std::vector<Environment> environments;
  for (Seat& seat : seats_) {
    auto greeting = seat.device.worker->hello(note);
    if (!greeting && is_home(seat) && greeting.error().kind == ErrorKind::kDevice)
      return with_context(greeting.error(), "opening " + seat.device.name);
    FATUNE_TRY_STATUS(bear(seat, greeting ? Status() : Status(greeting.error())));
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

Status DeviceTeam::begin(const BeginOrder& order, const std::string& objective, const Note& note) {
  objective_ = objective;
  forget_anchor();
  std::vector<std::future<Status>> others(seats_.size());
  for (std::size_t i = 1; i < seats_.size(); ++i) {
    if (seats_[i].left_out) continue;
    others[i] = std::async(std::launch::async, [&order, worker = seats_[i].device.worker.get()] {
      return worker->begin(order, nullptr);
    });
  }
  const Status at_home = home().begin(order, note);
  for (std::size_t i = 1; i < seats_.size(); ++i) {
    if (others[i].valid()) FATUNE_TRY_STATUS(bear(seats_[i], others[i].get()));
  }
  for (Seat& seat : seats_) seat.free_since = Clock::now();
  begun_ = at_home.operator bool();
  return at_home;
}

void DeviceTeam::end() {
  for (Seat& seat : seats_) {
    seat.device.worker->end();
    seat.task = Task::kNone;
  }
}

void DeviceTeam::forget_anchor() {
  anchor_.reset();
  ++anchors_;
  for (Seat& seat : seats_) {
    seat.samples.clear();
    seat.owed = kAnchorTimes;
    seat.anchor_us.reset();
    seat.since_anchor = 0;
  }
}

bool DeviceTeam::owes_anchor(const Seat& seat) const {
  return anchor_ && !seat.left_out && seat.owed > 0;
}

std::optional<std::size_t> DeviceTeam::idle() const {
  if (!begun_) return std::nullopt;
  for (std::size_t i = 0; i < seats_.size(); ++i) {
    const Seat& seat = seats_[i];
    if (works(seat) || seat.left_out || owes_anchor(seat)) continue;
    if (is_home(seat) || (seat.anchor_us && seats_.front().anchor_us)) return i;
  }
  return std::nullopt;
}

bool DeviceTeam::busy() const {
  return std::ranges::any_of(seats_, [this](const Seat& seat) { return works(seat); });
}

Result<bool> DeviceTeam::start_run(std::size_t device, const RunOrder& order, const Note& note) {
  Seat& seat = seats_.at(device);
  seat.scale = is_home(seat) ? 1 : *seats_.front().anchor_us / *seat.anchor_us;
  RunOrder there = order;
  for (std::optional<double>* best : {&there.best_hot_us, &there.best_cold_us}) {
    if (*best) **best /= seat.scale;
  }
  FATUNE_TRY_STATUS(bear(seat, seat.device.worker->start_run(there, note)));
  if (seat.left_out) return false;
  seat.order = order;
  seat.task = Task::kCandidate;
  return true;
}

std::vector<pollfd> DeviceTeam::descriptors() {
  std::vector<pollfd> wanted;
  for (Seat& seat : seats_) {
    if (works(seat)) wanted.push_back({seat.device.worker->descriptor(), POLLIN, 0});
  }
  return wanted;
}

Status DeviceTeam::time_anchor(const Note& note) {
  for (Seat& seat : seats_) {
    if (works(seat) || !owes_anchor(seat)) continue;
    FATUNE_TRY_STATUS(bear(seat, seat.device.worker->start_run(*anchor_, note)));
    if (seat.left_out) continue;
    seat.task = Task::kAnchor;
    seat.anchor = anchors_;
  }
  return {};
}

/// An anchor that no longer runs at home is none: the next candidate measured there is the next.
Status DeviceTeam::take_anchor(Seat& seat, const RunReply& reply) {
  if (seat.anchor != anchors_) return {};  // of one that is forgotten
  const auto& timing = timing_of(reply, anchor_time_);
  if (reply.outcome != Outcome::kMeasured || !timing) {
    if (is_home(seat)) forget_anchor();
    if (is_home(seat)) return bear(seat, {});
    const std::string lacks = reply.outcome == Outcome::kMeasured
                                  ? "has no time \"" + anchor_time_ + "\", as it has at home"
                                  : "did not run: " + reply.reason;
    return bear(seat, device_error("the candidate by which its times are compared " + lacks));
  }
  seat.samples.push_back(timing->median_us);
  if (seat.samples.size() > kAnchorKept) seat.samples.pop_front();
  if (--seat.owed == 0) seat.anchor_us = median({seat.samples.begin(), seat.samples.end()});
  return {};
}

DeviceTeam::Answer DeviceTeam::answer_of(std::size_t device, RunReply reply) {
  Seat& seat = seats_[device];
  ++seat.measured;
  if (++seat.since_anchor == kRenewAfter) {
    seat.owed = kAnchorTimes;
    seat.since_anchor = 0;
  }
  Answer answer{device, std::move(reply), {}};
  if (is_home(seat)) return answer;
  for (std::optional<Timing>* timing :
       {&answer.reply->in_layer, &answer.reply->plain, &answer.reply->cold, &answer.reply->hot})
    scale(*timing, seat.scale);
  answer.measured_on = MeasuredOn{seat.device.name, seat.uuid, seat.scale};
  return answer;
}

Result<std::optional<DeviceTeam::Answer>> DeviceTeam::finish(const Note& note) {
  std::optional<Answer> answer;
  for (std::size_t i = 0; i < seats_.size() && !answer; ++i) {
    Seat& seat = seats_[i];
    if (!works(seat)) continue;
    auto reply = seat.device.worker->finish(note);
    const bool candidate = seat.task == Task::kCandidate;
    FATUNE_TRY_STATUS(bear(seat, reply ? Status() : Status(reply.error())));
    if (reply && !*reply) continue;
    seat.task = Task::kNone;
    seat.free_since = Clock::now();
    if (!candidate) {
      if (reply) FATUNE_TRY_STATUS(take_anchor(seat, **reply));
      continue;
    }
    if (!reply) return std::optional(Answer{i, {}, {}});
    const bool timed =
        (*reply)->outcome == Outcome::kMeasured && objective_timing(**reply, objective_);
    if (!alone() && is_home(seat) && !anchor_ && timed) {
      anchor_ = seat.order;
      anchor_time_ = search_time(objective_, (*reply)->in_layer.has_value());
      anchor_->verify = false;
      anchor_->best_hot_us = anchor_->best_cold_us = std::nullopt;
    }
    answer = answer_of(i, **std::move(reply));
  }
  FATUNE_TRY_STATUS(time_anchor(note));
  return answer;
}

std::chrono::steady_clock::time_point DeviceTeam::free_since(std::size_t device) const {
  return seats_.at(device).free_since;
}

std::string DeviceTeam::summary() const {
  if (alone()) return "";
  std::vector<std::string> words;
  for (const Seat& seat : seats_) {
    std::string said =
        fmt::format("{} measured {}", seat.device.name, counted(seat.measured, "candidate"));
    if (!is_home(seat) && seat.measured > 0)
      said += fmt::format(" (its times x {:.4f})", seat.scale);
    words.push_back(std::move(said));
  }
  return join(words, ", ");
}

}  // namespace fatune
