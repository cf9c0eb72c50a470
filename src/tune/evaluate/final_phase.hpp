// final_phase.hpp: Runs contestants through gates, edge problems and interleaved rounds.
#pragma once

#include <vector>

#include "tune/compile/service.hpp"
#include "tune/evaluate/device_worker.hpp"
#include "tune/evaluate/evaluator.hpp"
#include "tune/evaluate/preparation.hpp"

namespace fatune {

/// Collaborators of the final phase, which must outlive the phase.
struct FinalSetting {
  CompileService& compiler;
  DeviceWorker& worker;
  PreparationSetting preparation;
  const RunPlan& run;
  IdOf id_of;
  Note progress;
  NoteErrors errors = nullptr;  ///< may be empty
};

/// Returns one record per contestant, followed by the reserves if used. A failed contestant has its
/// outcome and no times.
Result<std::vector<FinalRecord>> run_final_phase(const FinalSetting& setting,
                                                 const Problem& problem, const FinalPlan& plan,
                                                 const std::vector<Implementation>& contestants);

}  // namespace fatune
