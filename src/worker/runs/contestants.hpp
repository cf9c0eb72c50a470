// contestants.hpp: Opens the programs of a rounds order for timing, and keeps their rows.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "worker/device/device_problem.hpp"
#include "worker/device/device_session.hpp"
#include "worker/device/failure.hpp"
#include "worker/device/loaded_program.hpp"
#include "worker/protocol/messages.hpp"
#include "worker/timing/layer.hpp"
#include "worker/timing/sampler.hpp"

namespace fatune {

inline constexpr int kRoundsBetweenNotes = 4;

/// A program ready to take its turn in every round. A program that times itself has no graphs.
struct TimedProgram {
  OpenProgram program;
  HotLoop loop;
  std::optional<HotLoop> plain{};     ///< set if `loop` has launches that are not plain
  std::optional<HotLoop> in_layer{};  ///< attention in every layer
  Micros each{0};
};

/// Keeps the contestants of the rounds. A template that fails once it is open, after it passed
/// every gate, is an error. A baseline that fails, and a program that cannot be opened beside the
/// others, gets a failed row. All that the constructor takes must outlive it.
class Contestants {
 public:
  Contestants(DeviceSession& on, DeviceProblem& solved, const RoundsOrder& ordered);

  Status open();
  /// Fails unless the contestant is a baseline and the device goes on.
  Status give_up(std::size_t i, const Error& error);
  /// Whether a contestant takes its turn in a round. One that is far slower than the fastest takes
  /// few.
  bool takes_turn(std::size_t i, int round, int rounds) const;
  /// The number of rounds, of the time `each`, that the run can afford: at least as many as an
  /// interval needs.
  int affordable_rounds(Seconds each) const;

  std::size_t size() const { return programs.size(); }
  Sampler& sampler() const { return *session.sampler; }
  /// A device that hung is an error.
  template <typename Times>
  Result<Times> finished(const Result<std::optional<Times>>& times) const {
    if (!times) return Error(times.error());
    if (!*times) return device_error(hang_failure(problem.kernel_limit()).reason);
    return **times;
  }

  DeviceSession& session;
  DeviceProblem& problem;
  const RoundsOrder& order;
  ConditionWatch watch;
  std::vector<std::optional<TimedProgram>> programs;  ///< empty: it failed
  std::vector<RoundsRow> rows;
  Layer* layer = nullptr;  ///< null: no times in a layer
  std::string layer_note;

 private:
  void open_layer();
  void note_edges();
  Result<TimedProgram> make_loops(OpenProgram program);
  Status leave_out(std::size_t i, const Error& error);

  Micros fastest_{0};  ///< fastest launch of those that do not time themselves
};

}  // namespace fatune
