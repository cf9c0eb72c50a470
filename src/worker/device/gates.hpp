// gates.hpp - a loaded candidate to "correct", or the first gate it fails and why.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "model/results/measurement.hpp"
#include "model/results/physics.hpp"
#include "worker/baselines/executable.hpp"
#include "worker/device/device_problem.hpp"
#include "worker/device/judged.hpp"
#include "worker/timing/layer.hpp"
#include "worker/timing/sampler.hpp"

namespace fatune {

/// Names of the gates in the order of a verification: launch, poison, inputs, guard_bands,
/// accuracy, repeat.
const std::vector<std::string>& gate_names();
/// The gates of timed launches, in their order.
inline constexpr const char* kPhysicsGate = "physics";
inline constexpr const char* kTimedOutputGate = "timed_output";
inline constexpr const char* kSameWorkGate = "same_work";
inline constexpr const char* kPersistingGate = "persisting_l2";
inline constexpr const char* kCarryOverGate = "carry_over";
inline constexpr const char* kInLayerGate = "in_layer";
/// The gate of dependent launches.
inline constexpr const char* kEarlyStartGate = "early_start";

/// The floors of a problem on the session's device, at the highest clock that NVML or the driver
/// reports.
PhysicsFloor floor_of(const DeviceSession& session, const Problem& problem);
/// What was timed, and what came out.
struct TimedRun {
  const HotLoop* loop = nullptr;        ///< the graph; none when only cold launches were timed
  const HotLoop* plain_loop = nullptr;  ///< where the graph has launches that are not plain
  std::optional<Micros> hot{}, plain{}, cold{}, in_layer{};
};
/// Compares medians with the floors; notes in `verification` that the gate was passed, or why it
/// did not run. Needs no device.
MaybeFailure check_physics(const PhysicsFloor& floor, const TimedRun& run,
                           Verification& verification);

/// NaN in every element type; and a finite number, which a kernel that reads what it should write
/// would pass on.
inline constexpr std::uint8_t kPoisons[] = {0xff, 0x5a};

/// Runs a candidate under every gate. One candidate, one problem.
class GateKeeper {
 public:
  GateKeeper(DeviceSession& session, DeviceProblem& problem, Executable& program)
      : session_(session), problem_(problem), program_(program), variation_(program.may_vary()) {}
  /// All gates over all sets of inputs, and over more seeds when the margin is small.
  MaybeFailure verify(const PhaseNote& note);
  /// The launch gate alone, for --skip-correctness.
  MaybeFailure launch_only();
  /// After timing: the times must be possible; the timed graph, and single launches, must still
  /// give the verified outputs, over poison, over another output, and on other inputs at the same
  /// addresses; launches on inputs that it has just seen must take as long as on others; nothing
  /// may be set aside in the L2 cache; the kernel behind it must find the output, and in the cache
  /// what it had there. Outputs that were not verified here are compared in full.
  MaybeFailure check_timed(const TimedRun& run);
  /// Between the products of a layer, where the next kernel begins behind it, the output must be
  /// the one that a launch by itself leaves on the same inputs where it was verified; which is
  /// compared with a reference if `judged`. Nothing around it may be changed.
  MaybeFailure check_in_layer(const Layer& layer, const HotLoop& loop, bool judged);
  const Verification& verification() const { return verification_; }
  /// Of the outputs that "accuracy" refused.
  const std::vector<ErrorRegion>& regions() const { return regions_; }

 private:
  /// Checksums of the outputs that are checked, in the order of DeviceProblem::outputs().
  using Sums = std::vector<std::uint64_t>;
  /// What became of a call made for the candidate, a Status or Result; of a launch.
  template <typename Done>
  MaybeFailure failed(const Done& done) const {
    if (done) return std::nullopt;
    return failure_of(done.error(), session_.stream.raw());
  }
  MaybeFailure unfinished(const Result<MaybeTime>& time) const;
  std::span<const GuardedBuffer> checked_outputs() const;
  MaybeFailure fill_outputs(std::uint8_t pattern);
  MaybeFailure run(InputSet& set, std::optional<std::uint8_t> poison);
  MaybeFailure run_and_look(InputSet& set, std::optional<std::uint8_t> poison);
  MaybeFailure to_host(std::size_t host);
  MaybeFailure same_again(InputSet& set, std::optional<std::uint8_t> poison, const Sums& sums,
                          std::uint8_t pattern);
  MaybeFailure look_around(const InputSet& set);
  MaybeFailure look_between_rows();
  MaybeFailure verify_set(InputSet& set);
  MaybeFailure check_early_start();
  MaybeFailure run_on_layer_set(InputSet& set);
  MaybeFailure look_around_in_layer(const Layer& layer, const InputSet& set);
  MaybeFailure judge_in_layer(std::span<const GuardedBuffer* const> outputs, const InputSet& set,
                              const std::string& finding);
  MaybeFailure check_outputs(const TimedRun& run);
  MaybeFailure check_graph(const HotLoop& loop);
  MaybeFailure replay_swapped(const HotLoop& loop);
  Status swap_inputs();
  MaybeFailure expect_verified(std::size_t index, const char* gate, const std::string& when);
  MaybeFailure check_same_work(const TimedRun& run);
  struct Series;
  struct PairTimes;
  MaybeFailure time_series(const Series& series, std::vector<double>& us);
  MaybeFailure time_pairs(Series series, std::size_t pairs, PairTimes& each);
  MaybeFailure time_alone(Series series, PairTimes& each);
  MaybeFailure compare_series(const TimedRun& run, Series series);
  double memory_us() const;
  Status alter(const Alteration& scores, const Alteration& values);
  MaybeFailure expect_right(const std::string& when);
  MaybeFailure check_persisting_lines();
  MaybeFailure check_carry_over();
  MaybeFailure time_reads_behind(const QueueWork& work, std::vector<double>& cycles);
  Judged judge(const InputSet& set, std::size_t host) const;
  MaybeFailure judge_own_output(const OwnOutput& own, const InputSet& set);
  MaybeFailure check_own_output(const OwnOutput& own, const HotLoop* loop);
  void note_own_output();
  bool counts_although_wrong(const Judged& judged, const InputSet& set);
  void note_concessions();

  DeviceSession& session_;
  DeviceProblem& problem_;
  Executable& program_;
  Verification verification_;
  std::vector<ErrorRegion> regions_;
  Variation variation_;
  std::map<std::string, std::string> concessions_;  ///< to a rival: where it is wrong, and how
  Sums output_sums_;                                ///< what look_around() saw last
  std::uint8_t pattern_ = 0;                        ///< that the outputs were filled with last
  std::vector<std::optional<Sums>> verified_;       ///< of right outputs, by set
};

}  // namespace fatune
