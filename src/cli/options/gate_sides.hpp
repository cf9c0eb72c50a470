// gate_sides.hpp - --candidate and --baseline as typed, to the questions of a gate.
#pragma once

#include <string>
#include <vector>

#include "cli/options/args.hpp"
#include "cli/options/session.hpp"
#include "core/result.hpp"
#include "tune/sweep/comparison.hpp"

namespace fatune::cli {

struct GateSides {
  std::string candidate;  ///< a config file, a kernel, or an implementation
  /// comma-separated: implementations, kernels, config files, saved results
  std::string baselines;
  ProblemArgs problem;
};

/// Before the device is opened: the candidate of each problem. A file's own problems hold unless
/// --shape or --suite is given.
Result<std::vector<Implementation>> gate_candidates(const GateSides& sides,
                                                    const std::vector<KernelRef>& catalog,
                                                    const Settings& settings);

/// With the device known: baselines to run in the same rounds, and rows of saved results, which
/// must be of the same device and problem.
Result<std::vector<GateQuestion>> gate_questions(const GateSides& sides,
                                                 const std::vector<Implementation>& candidates,
                                                 const Session& session, const Settings& settings);

}  // namespace fatune::cli
