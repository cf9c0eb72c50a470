// selftest.hpp - kernels that cheat or fail to rows: was each caught by the gate meant for it?
#pragma once

#include <string>
#include <vector>

#include "core/result.hpp"
#include "model/kernel/kernel.hpp"
#include "tune/evaluate/evaluator.hpp"

namespace fatune {

/// What became of a fixture, or of an honest kernel, for which `gate` is empty.
struct SelftestRow {
  std::string kernel;
  Problem problem;
  std::string gate;     ///< that should decide
  std::string outcome;  ///< "not_run" for a kernel that cannot do the problem on this device
  std::string reason;
  std::string expected_outcome;
  bool caught = false;  ///< the expected outcome by the expected gate; honest: measured
};
struct SelftestResult {
  std::vector<SelftestRow> cheats, honest;
  /// Every cheat caught and every honest kernel measured, as far as they run on this device.
  bool passed() const;
};

/// Each of attention's fixtures with an expected gate at its own problem, with lse if it writes
/// that, and every honest kernel's default config at a small one, without lse and with, through the
/// gates and the timing of a sweep.
Result<SelftestResult> run_selftest(const std::vector<KernelRef>& kernels, Evaluator& evaluator);
/// The same for a declared operation, at one of its problems: the cheats below, and those of
/// `kernels` that compute it.
Result<SelftestResult> run_selftest(const std::vector<KernelRef>& kernels, const Problem& problem,
                                    const KernelRef& reference, Evaluator& evaluator);

/// An operation's reference, made to cheat in one way each, at each of its tensors: fixtures. Their
/// texts are right for this problem alone.
Result<std::vector<KernelRef>> cheats_at(const Problem& problem, const KernelRef& reference);

}  // namespace fatune
