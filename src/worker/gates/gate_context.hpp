// gate_context.hpp: Holds what the gates share about one candidate on one problem.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "model/results/measurement.hpp"
#include "worker/baselines/executable.hpp"
#include "worker/device/device_problem.hpp"
#include "worker/device/device_session.hpp"
#include "worker/device/failure.hpp"
#include "worker/gates/findings.hpp"
#include "worker/timing/layer.hpp"
#include "worker/timing/sampler.hpp"

namespace fatune {

/// NaN in every element type; and a finite number, which a kernel that reads what it should write
/// would pass on.
inline constexpr std::uint8_t kPoisons[] = {0xff, 0x5a};

/// The graphs and times of a candidate, for the gates of timed launches.
struct TimedRun {
  const HotLoop* loop = nullptr;        ///< null if only cold launches were timed
  const HotLoop* plain_loop = nullptr;  ///< set if `loop` has launches that are not plain
  std::optional<Micros> hot{}, plain{}, cold{}, in_layer{};
};

/// The graph of a candidate between the products of a layer.
struct LayerRun {
  const Layer* layer = nullptr;
  const HotLoop* loop = nullptr;
  bool judged = false;  ///< its output is compared with a reference
};

/// Everything that it is made of must outlive it.
struct GateContext {
  GateContext(DeviceSession& on, DeviceProblem& solved, Executable& candidate)
      : session(on), problem(solved), program(candidate), variation(candidate.may_vary()) {}

  /// Classifies a Status or Result of a call that was made for the candidate.
  template <typename Done>
  MaybeFailure failed(const Done& done) const {
    if (done) return std::nullopt;
    return failure_of(done.error(), session.stream.raw());
  }
  /// Classifies the result of a launch, which is empty if it did not finish in time.
  MaybeFailure unfinished(const Result<MaybeTime>& time) const;

  /// All outputs, but lse only if the program writes it.
  std::span<const GuardedBuffer> checked_outputs() const;
  /// Outputs that are read get the fill of `inputs`.
  MaybeFailure fill_outputs(std::uint8_t with, const InputSet& inputs);
  /// Launches the candidate once. Fills outputs and scratch memory with `poison` before, if given;
  /// outputs that are read in any case.
  MaybeFailure run(InputSet& inputs, std::optional<std::uint8_t> poison);
  /// Copies the outputs to DeviceProblem::host_output(host).
  MaybeFailure fetch_outputs(std::size_t host);
  /// Judges the outputs that fetch_outputs() copied.
  Judged judge(const InputSet& inputs, std::size_t host) const;
  /// Queues the exchange of the first two sets' data.
  Status swap_inputs();

  DeviceSession& session;
  DeviceProblem& problem;
  Executable& program;
  Verification verification;
  bool locate_errors = false;        ///< fill `regions`
  std::vector<ErrorRegion> regions;  ///< of the outputs that "accuracy" refused

  InputSet* set = nullptr;  ///< for GateMoment::kEveryRun and kInputSet
  TimedRun timed;           ///< for kTimed
  LayerRun in_layer;        ///< for kLayer

  Checksums input_sums, output_sums;               ///< after the latest run, of those checked
  Checksums first_sums;                            ///< of the outputs of the set's first run
  bool first_on_host = false;                      ///< the first run's outputs are host_output(0)
  Judged judged;                                   ///< of the first run
  std::uint8_t pattern = 0;                        ///< the outputs were filled with it last
  std::vector<std::optional<Checksums>> verified;  ///< of right outputs, by set
  Variation variation;                             ///< between runs
  std::map<std::string, std::string> tolerated;    ///< errors of a baseline: where, and how much
};

/// Takes checksums of inputs and outputs, and asks the gates of every run.
MaybeFailure check_guards(GateContext& context, InputSet& set);
/// Runs the candidate, then check_guards().
MaybeFailure run_guarded(GateContext& context, InputSet& set, std::optional<std::uint8_t> poison);
/// Runs the candidate once more on context.set. The outputs must be those of the set's first run. A
/// program that may vary may leave others that are right.
MaybeFailure check_repeatable(GateContext& context, std::optional<std::uint8_t> poison);
/// The output must be the verified one of the set at `index`. An output that was not verified is
/// compared with the reference now; so is a different output of a program that may vary. `when`
/// is for the reason.
MaybeFailure check_verified(GateContext& context, std::size_t index, GateId gate,
                            const std::string& when);

/// Tolerates two errors of a baseline, never of a template: 8-bit sums where every v is 1, and
/// numbers for inputs that are not finite. The times count, and the row notes the error.
bool tolerate_baseline_error(GateContext& context, const Judged& judged, const InputSet& set);

/// Judges the fp8 output that a library keeps in memory of its own (Executable::own_output).
MaybeFailure check_own_output(GateContext& context, const OwnOutput& own, const InputSet& set);
/// Replaces the gates that such an output cannot meet by a note.
void note_own_output(GateContext& context);

}  // namespace fatune
