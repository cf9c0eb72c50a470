// gates.hpp - a loaded candidate to "correct", or the first gate it fails and why.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "evaluate/device_problem.hpp"
#include "evaluate/loaded_program.hpp"
#include "record/measurement.hpp"
#include "record/outcome.hpp"

namespace fatune {

/// Names of the gates in the order of a verification: launch, poison, inputs, guard_bands,
/// accuracy, repeat.
const std::vector<std::string>& gate_names();

/// What went wrong with a candidate. After a fatal failure the process must end.
struct Failure {
  Outcome outcome = Outcome::kWrongResult;
  std::string reason;
  bool fatal = false;
};
using MaybeFailure = std::optional<Failure>;

/// An error of a call made for a candidate: crashed when it broke the context, else a refused
/// launch.
Failure failure_of(const Error& error, CUstream stream);
Failure hang_failure(std::chrono::microseconds limit);

/// What two runs over differently poisoned buffers tell; empty when they agree to the bit. Needs no
/// device.
std::string poison_finding(const Problem& problem, std::span<const std::byte> first,
                           std::uint8_t first_pattern, std::span<const std::byte> second,
                           std::uint8_t second_pattern);

/// Runs a candidate under every gate. One candidate, one problem.
class GateKeeper {
 public:
  GateKeeper(DeviceSession& session, DeviceProblem& problem, LoadedProgram& program)
      : session_(session), problem_(problem), program_(program) {}
  /// All gates over all sets of inputs, and over more seeds when the margin is small.
  MaybeFailure verify();
  /// The launch gate alone, for --skip-correctness.
  MaybeFailure launch_only();
  /// After timing: the timed launches must have left the verified output.
  MaybeFailure check_timed_output();
  const Verification& verification() const { return verification_; }

 private:
  MaybeFailure run(InputSet& set, std::optional<std::uint8_t> poison);
  MaybeFailure run_to_host(InputSet& set, std::optional<std::uint8_t> poison, std::size_t host);
  MaybeFailure look_around(const InputSet& set);
  MaybeFailure verify_set(InputSet& set);
  void account(const InputSet& set, const Comparison& comparison, const Judgement& verdict);
  std::vector<const GuardedBuffer*> buffers_of(const InputSet& set) const;

  DeviceSession& session_;
  DeviceProblem& problem_;
  LoadedProgram& program_;
  Verification verification_;
};

}  // namespace fatune
