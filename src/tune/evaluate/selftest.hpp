// selftest.hpp: Checks that the designated gate catches every kernel that cheats or fails.
#pragma once

#include <string>
#include <vector>

#include "core/result.hpp"
#include "model/kernel/kernel.hpp"
#include "tune/evaluate/evaluator.hpp"

namespace fatune {

/// Result of a fixture, or of an honest kernel, for which `gate` is empty.
struct SelftestRow {
  std::string kernel;  ///< name of the kernel or fixture
  Problem problem;
  std::string gate;     ///< the gate that should decide
  std::string outcome;  ///< "not_run" for a kernel that does not support the problem or device
  std::string reason;
  std::string expected_outcome;
  bool caught = false;  ///< the expected gate decided with the expected outcome; honest: measured
};
struct SelftestResult {
  std::vector<SelftestRow> cheats, honest;
  /// True if every fixture was caught and every honest kernel measured, among those that ran.
  bool passed() const;
};

/// Runs the attention fixtures on their problems, and the default config of every honest kernel on
/// a small problem. Honest kernels run without and with lse, through the gates and timing of a
/// sweep.
Result<SelftestResult> run_selftest(const std::vector<KernelRef>& kernels, Evaluator& evaluator);
/// Runs the fixtures of a declared operation on one of its problems, and the `kernels` that compute
/// the operation.
Result<SelftestResult> run_selftest(const std::vector<KernelRef>& kernels, const Problem& problem,
                                    const KernelRef& reference, Evaluator& evaluator);

/// A kernel with one fault.
struct Fixture {
  std::string name;  ///< name of its row
  KernelRef kernel;
  Config config;
  Fault fault;
};

/// Returns a fixture for each parameter value of the kernel that declares a fault.
std::vector<Fixture> fixtures_of(const KernelRef& kernel);
/// Returns fixtures made from an operation's reference, one for each fault and tensor. The source
/// texts fit this problem only.
Result<std::vector<Fixture>> cheats_at(const Problem& problem, const KernelRef& reference);

}  // namespace fatune
