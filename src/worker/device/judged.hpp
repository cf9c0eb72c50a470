// judged.hpp - outputs on the host to findings, beside the reference and beside another run; errors
// and findings to failures, and the gate that says so.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "gpu/driver.hpp"
#include "model/results/measurement.hpp"
#include "worker/device/device_problem.hpp"
#include "worker/verify/host_reference.hpp"

namespace fatune {

struct Judged {
  /// The largest over the outputs, lse aside: max_abs, mean_abs, relative_l2 and allclose_1e3
  /// alone.
  Comparison figures;
  Judgement verdict;  ///< likewise
  std::optional<LseJudgement> lse;
  const Judgement& worst() const;  ///< the first that failed, else the larger margin
};

/// The first `checked` outputs, from `host` of DeviceProblem::host_output().
Judged judge_outputs(const DeviceProblem& problem, const InputSet& set, std::size_t host,
                     std::size_t checked);

/// An output in fp8 where `out` has 16 bits: all elements are finite, and the first `heads` are off
/// in the 2-norm by what the problem allows and what rounding to `type` costs at most.
Judged judge_own_output(const TensorReference& out, Dtype type, std::int64_t heads,
                        std::span<const std::byte> elements);

/// Of those of the outputs that are wrong.
std::vector<ErrorRegion> wrong_regions(const DeviceProblem& problem, const InputSet& set,
                                       std::size_t host);

/// What a run left of a buffer that was filled with `pattern` before it.
struct PoisonedRun {
  std::span<const std::byte> bytes;
  std::uint8_t pattern = 0;
};
/// "poison: ..." for elements that were never written, "repeat: ..." for others that differ; empty
/// when the runs agree to the bit.
std::string poison_finding(const TensorPlan& tensor, const PoisonedRun& first,
                           const PoisonedRun& second);

/// "guard_bands: ..." for bytes between rows of an output whose memory was filled with that
/// pattern; empty when all have kept it.
std::string gap_finding(const TensorPlan& tensor, const PoisonedRun& run);

/// The margin becomes the verdict's where that is larger.
void account_margin(const Judgement& verdict, Verification& verification);
/// Adds a set's verdict to those before it. The figures are of inputs as they are usually.
void account(const Judged& judged, const InputCase& which, Verification& verification);

/// What went wrong with a candidate. After a fatal failure the process must end.
struct Failure {
  Outcome outcome = Outcome::kWrongResult;
  std::string reason;
  bool fatal = false;
};
using MaybeFailure = std::optional<Failure>;
/// As the outcome and reason of what was seen.
void record_failure(const Failure& failure, Observation& seen);

/// An error of a call made for a candidate: crashed when it broke the context, unavailable when
/// something is missing on this machine, infeasible when an implementation cannot do the problem,
/// else a refused launch.
Failure failure_of(const Error& error, CUstream stream);
Failure hang_failure(std::chrono::microseconds limit);

/// What comes of a difference between two runs: a failure, or, of an implementation that may vary
/// (Executable::may_vary), a note.
class Variation {
 public:
  explicit Variation(bool allowed) : allowed_(allowed) {}
  /// `finding`: "GATE: what differs". `verdict`: of the run that differs from the one before it,
  /// which must be right by itself. Outputs that were never written are always a failure.
  MaybeFailure differs(const std::string& finding, const Judgement& verdict);
  /// A gate that found a difference was not passed: it moves to those not run, with what was found.
  void note_in(Verification& verification) const;

 private:
  bool allowed_;
  std::map<std::string, std::string> notes_;  ///< the first of each gate
};

}  // namespace fatune
