// findings.hpp: Compares the bytes that runs leave in an output, and judges runs that differ.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "model/problem/tensor.hpp"
#include "worker/device/failure.hpp"
#include "worker/verify/tolerance.hpp"

namespace fatune {

/// Something that a gate does not allow.
struct GateFinding {
  GateId gate;
  std::string what;
};
/// "GATE: what", as reasons and notes say it.
std::string describe(const GateFinding& finding);

/// The bytes of an output that was filled with `pattern` before a run.
struct PoisonedRun {
  std::span<const std::byte> bytes;
  std::uint8_t pattern = 0;
};
/// Names the gate "poison" if elements were never written, and "repeat" if others differ. Empty if
/// the runs agree to the bit.
std::optional<GateFinding> poison_finding(const TensorPlan& tensor, const PoisonedRun& first,
                                          const PoisonedRun& second);
/// Finds bytes between the rows of an output that have lost the pattern. Empty if all have kept it.
std::optional<GateFinding> gap_finding(const TensorPlan& tensor, const PoisonedRun& run);

/// Judges differences between two runs. They are a failure, or a note if the implementation may
/// vary (Executable::may_vary).
class Variation {
 public:
  explicit Variation(bool allowed) : allowed_(allowed) {}
  /// `verdict` is of the second run, which must be right by itself. An output that was never
  /// written is always a failure.
  MaybeFailure differs(const GateFinding& finding, const Judgement& verdict);
  /// Moves each gate that found a difference to those not run, with what it found.
  void note_in(Verification& verification) const;

 private:
  bool allowed_;
  std::map<GateId, std::string> notes_;  ///< the first of each gate
};

}  // namespace fatune
