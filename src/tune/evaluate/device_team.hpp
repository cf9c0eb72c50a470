// device_team.hpp: Deals the candidates of one search to several devices.
#pragma once

#include <chrono>
#include <cstddef>
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

/// Candidates of one search go to whichever device is free. Their times are those of the device
/// that measured them, which a record names; GPUs of one kind differ by about 1 %, and the final
/// phase ranks on the first device, home. A device that cannot work is left out, unless it is home:
/// that is an error.
class DeviceTeam {
 public:
  /// `devices` is not empty; home is the first.
  explicit DeviceTeam(std::vector<TeamDevice> devices);
  DeviceWorker& home() { return *seats_.front().device.worker; }

  /// Says hello to each; the environments of those that take part, home's first.
  Result<std::vector<Environment>> hello(const Note& note);
  /// What the next begin() will be about, so that each opens what is slow to open; none is idle
  /// until then. What fails shows there.
  void expect(const ExpectOrder& expected);
  /// The problem to each, side by side.
  Status begin(const BeginOrder& order, const Note& note);
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
  /// What a device has to say of its candidate, if any has.
  Result<std::optional<Answer>> finish(const Note& note);
  /// When the device last became free.
  std::chrono::steady_clock::time_point free_since(std::size_t device) const;
  /// "cuda:0 measured 80 candidates, cuda:1 measured 70 candidates"; empty for home alone.
  std::string summary() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Seat {
    TeamDevice device;
    std::string uuid = {};
    bool works = false;
    Clock::time_point free_since = {};
    std::size_t measured = 0;
    bool left_out = false;
  };

  bool is_home(const Seat& seat) const { return &seat == &seats_.front(); }
  /// The failure of a device other than home is no error: the device is left out.
  Status tolerate_failure(Seat& seat, Status done);

  std::vector<Seat> seats_;
  bool begun_ = false;
};

}  // namespace fatune
