// runs.hpp: Declares how candidates are verified and timed, alone and in rounds.
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

/// Loads, verifies and times one candidate. It never fails: whatever a candidate does is an
/// outcome. Memory that the candidate overwrote is restored.
RunReply run_candidate(DeviceSession& session, DeviceProblem& problem, const RunOrder& order,
                       const PhaseNote& note);

/// Times all contestants round by round, each round in another order. A template that fails here,
/// after it passed every gate, is an error; an implementation from elsewhere is a failed row.
Result<RoundsReply> run_rounds(DeviceSession& session, DeviceProblem& problem,
                               const RoundsOrder& order, const PhaseNote& note);

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

/// Runs the rounds in a layer apart from the others, because a GPU that goes from layer to layer
/// settles on a speed of its own. Does nothing without a layer. Needs the hot times, which tell how
/// long a round takes. `orders` are used again from the start if they run out. The layers' note
/// says how many rounds were steady. `note` is called every few rounds.
Status run_layer_rounds(Contestants& contestants,
                        const std::vector<std::vector<std::size_t>>& orders, const PhaseNote& note);

/// Compares A B A B with A A B B for the two fastest contestants in a layer. A row notes a
/// difference, and the layers' note says the result in any case.
Status test_layer_order(Contestants& contestants);

}  // namespace fatune
