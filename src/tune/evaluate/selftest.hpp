// selftest.hpp: Checks that every kernel that cheats or fails is caught by the gate meant for it.
#pragma once

#include <string>
#include <vector>

#include "core/result.hpp"
#include "model/kernel/kernel.hpp"
#include "tune/evaluate/evaluator.hpp"

namespace fatune {

/// What became of a fixture, or of an honest kernel, for which `gate` is empty.
struct SelftestRow {
  std::string kernel;  ///< the kernel's name, or the fixture's
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

/// Runs each of attention's fixtures at its own problem, and every honest kernel's default config
/// at a small one, without lse and with, through the gates and the timing of a sweep.
Result<SelftestResult> run_selftest(const std::vector<KernelRef>& kernels, Evaluator& evaluator);
/// Does the same for a declared operation, at one of its problems: the cheats below, and those of
/// `kernels` that compute it.
Result<SelftestResult> run_selftest(const std::vector<KernelRef>& kernels, const Problem& problem,
                                    const KernelRef& reference, Evaluator& evaluator);

/// A kernel with one thing wrong.
struct Fixture {
  std::string name;  ///< of its row
  KernelRef kernel;
  Config config;
  Fault fault;
};

/// A fixture for each value of the kernel's parameters that declares a fault.
std::vector<Fixture> fixtures_of(const KernelRef& kernel);
/// Fixtures made of an operation's reference, one for each way to cheat at each of its tensors.
/// Their texts are right for this problem alone.
Result<std::vector<Fixture>> cheats_at(const Problem& problem, const KernelRef& reference);

}  // namespace fatune
