// run_state.cpp - readies an evaluator for a problem and reminds it of what is journalled.
#include "tune/sweep/run_state.hpp"

#include <algorithm>

namespace fatune {

Status RunState::begin(const Problem& problem) {
  if (begun == problem) return {};
  clock.go_live();
  FATUNE_TRY_STATUS(evaluator.begin_problem(problem, plan));
  for (const CandidateRecord& record : known.results(problem)) {
    const auto kernel = std::find_if(kernels.begin(), kernels.end(), [&](const KernelRef& other) {
      return other->manifest.name == record.kernel;
    });
    if (kernel == kernels.end()) continue;
    FATUNE_TRY(Config config,
               config_from_json((*kernel)->manifest, record.config, "journal: " + record.key));
    evaluator.remember({*kernel, std::move(config), problem}, record);
  }
  begun = problem;
  return {};
}

}  // namespace fatune
