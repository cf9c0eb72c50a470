// device_team.hpp: Distributes the candidates of one search over several devices.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <poll.h>

#include "core/result.hpp"
#include "model/results/record.hpp"
#include "tune/evaluate/device_worker.hpp"

namespace fatune {

/// A device and its worker process.
struct TeamDevice {
  std::string name;  ///< "cuda:1"
  std::unique_ptr<DeviceWorker> worker;
};

/// Sends each candidate of a search to a free device. Times belong to the measuring device, which
/// the record names; GPUs of one kind differ by about 1 %. The final phase runs on the first
/// device, home. A failing device is left out; a failure of home is an error.
class DeviceTeam {
 public:
  /// `devices` is not empty; home is the first.
  explicit DeviceTeam(std::vector<TeamDevice> devices);
  DeviceWorker& home() { return *executors_.front().device.worker; }

  /// Says hello to each device; returns the environments of the devices that take part, home's
  /// first.
  Result<std::vector<Environment>> hello(const Note& note);
  /// Announces the content of the next begin(), so that each worker opens slow libraries early. No
  /// device is idle until begin(), which also reports failures.
  void expect(const ExpectOrder& expected);
  /// Begins the problem on all devices in parallel.
  Status begin(const BeginOrder& order, const Note& note);
  /// Ends all processes.
  void end();

  /// Returns a device that may take a candidate now.
  std::optional<std::size_t> idle() const;
  bool busy() const;  ///< whether any device works
  /// Starts a candidate; false if the device failed and was left out.
  Result<bool> start_run(std::size_t device, const RunOrder& order, const Note& note);
  /// Returns the descriptors of working devices.
  std::vector<pollfd> descriptors();

  struct Answer {
    std::size_t device = 0;
    /// Absent: the device was left out, and another device must take the candidate.
    std::optional<RunReply> reply;
    std::optional<MeasuredOn> measured_on;  ///< set for devices other than home
  };
  /// Returns the next finished candidate, if there is one.
  Result<std::optional<Answer>> finish(const Note& note);
  /// Returns when the device last became free.
  std::chrono::steady_clock::time_point free_since(std::size_t device) const;
  /// Returns "cuda:0 measured 80 candidates, cuda:1 measured 70 candidates"; empty for home alone.
  std::string summary() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Executor {
    TeamDevice device;
    std::string uuid = {};
    bool works = false;
    Clock::time_point free_since = {};
    std::size_t measured = 0;
    bool left_out = false;
  };

  bool is_home(const Executor& executor) const { return &executor == &executors_.front(); }
  /// Leaves out a failing device and returns success, unless the device is home.
  Status tolerate_failure(Executor& executor, Status done);

  std::vector<Executor> executors_;
  bool begun_ = false;
};

}  // namespace fatune
