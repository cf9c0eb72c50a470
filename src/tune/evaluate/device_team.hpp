// device_team.hpp - the devices that measure for one search, and how their times compare.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <poll.h>

#include "core/result.hpp"
#include "model/results/record.hpp"
#include "tune/evaluate/device_worker.hpp"

namespace fatune {

/// A device by its worker.
struct TeamDevice {
  std::string name;  ///< "cuda:1"
  std::unique_ptr<DeviceWorker> worker;
};

/// Times are told in those of the first device, home. GPUs of one kind differ by about 1 %, so a
/// candidate that was measured at home, the anchor, is timed on each, and times of another device
/// are multiplied by the anchor's time at home over its time there. Until there is an anchor home
/// measures alone. A device that cannot work is left out, unless it is home: that is an error.
/// With home alone nothing is timed but candidates.
class DeviceTeam {
 public:
  static constexpr std::size_t kAnchorTimes = 5;  ///< before the first candidate, and at renewals
  static constexpr std::size_t kAnchorKept = 25;  ///< times, the newest, of which the median counts
  static constexpr std::size_t kRenewAfter = 64;  ///< candidates of a device

  /// `devices` is not empty; home is the first.
  explicit DeviceTeam(std::vector<TeamDevice> devices);
  DeviceWorker& home() { return *seats_.front().device.worker; }

  /// Says hello to each; the environments of those that take part, home's first.
  Result<std::vector<Environment>> hello(const Note& note);
  /// What the next begin() will be about, so that each opens what is slow to open; none is idle
  /// until then. What fails shows there.
  void expect(const ExpectOrder& expected);
  /// The problem to each, side by side; forgets the anchor. `objective`: whose times are compared.
  Status begin(const BeginOrder& order, const std::string& objective, const Note& note);
  /// Ends all processes.
  void end();

  /// A device that may take a candidate now.
  std::optional<std::size_t> idle() const;
  bool busy() const;  ///< some device is
  /// False: the device cannot work and was left out.
  Result<bool> start_run(std::size_t device, const RunOrder& order, const Note& note);
  /// Of devices that work.
  std::vector<pollfd> descriptors();

  struct Answer {
    std::size_t device = 0;
    /// Absent: the device was left out, and the candidate is another's.
    std::optional<RunReply> reply;
    std::optional<MeasuredOn> measured_on;  ///< of another device than home
  };
  /// What a device has to say of its candidate, if any has. Times the anchor where that is due.
  Result<std::optional<Answer>> finish(const Note& note);
  /// When the device last became free.
  std::chrono::steady_clock::time_point free_since(std::size_t device) const;
  /// "cuda:0 measured 80 candidates, cuda:1 70 (its times x 0.9963)"; empty for home alone.
  std::string summary() const;

 private:
  using Clock = std::chrono::steady_clock;
  enum class Task { kNone, kCandidate, kAnchor };
  struct Seat {
    TeamDevice device;
    std::string uuid = {};
    Task task = Task::kNone;
    RunOrder order = {};  ///< of the task
    Clock::time_point free_since = {};
    std::deque<double> samples = {};       ///< of the anchor, the newest last
    std::size_t owed = kAnchorTimes;       ///< of them, before the next candidate
    std::optional<double> anchor_us = {};  ///< their median, once there were enough
    double scale = 1;                      ///< of the last candidate's times
    std::size_t since_anchor = 0, measured = 0;
    std::size_t anchor = 0;  ///< whose time is being taken
    bool left_out = false;
  };

  bool alone() const { return seats_.size() == 1; }
  bool is_home(const Seat& seat) const { return &seat == &seats_.front(); }
  bool works(const Seat& seat) const { return seat.task != Task::kNone; }
  bool owes_anchor(const Seat& seat) const;
  /// Of a device other than home it is no error: the device is left out.
  Status bear(Seat& seat, Status done);
  Status time_anchor(const Note& note);
  Status take_anchor(Seat& seat, const RunReply& reply);
  void forget_anchor();
  Answer answer_of(std::size_t device, RunReply reply);

  std::vector<Seat> seats_;
  std::string objective_;
  bool begun_ = false;
  std::size_t anchors_ = 0;  ///< that were forgotten
  std::string anchor_time_;  ///< of the anchor at home: another device's is compared by the same
  std::optional<RunOrder> anchor_;
};

}  // namespace fatune
