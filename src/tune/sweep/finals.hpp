// finals.hpp - the candidates of a search to the contestants of its final phase.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "model/results/record.hpp"
#include "tune/evaluate/evaluator.hpp"

namespace fatune {

/// What a sweep's winners are measured against on a problem, beside the reference; empty: nothing.
using MakeBaselines = std::function<Result<std::vector<Implementation>>(const Problem&)>;

struct FinalsRequest {
  const Problem& problem;
  const std::vector<KernelRef>& kernels;  ///< those searched
  const KernelRef& reference;
  const DeviceLimits& limits;
  std::string objective;
  std::size_t finalists = 8;
  std::vector<Implementation> baselines = {};      ///< beside the reference
  const std::vector<SavedConfig>* only = nullptr;  ///< those that may be finalists; null: all
};

/// The fastest correct candidates, each machine code once; the default config of the fastest one's
/// kernel, if it ran and is not among them; the reference kernel's default config as "naive"; the
/// other baselines. Empty when nothing was measured.
Result<std::vector<Implementation>> choose_contestants(
    const FinalsRequest& request, const std::vector<CandidateRecord>& candidates);

/// Whether `finals` has a record of every contestant: an earlier attempt got that far.
bool covers(const std::vector<FinalRecord>& finals, const std::vector<Implementation>& contestants);

}  // namespace fatune
