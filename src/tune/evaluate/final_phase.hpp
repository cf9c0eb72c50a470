// final_phase.hpp - contestants to final records: edge problems, gates, interleaved rounds.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tune/compile/service.hpp"
#include "tune/evaluate/device_worker.hpp"
#include "tune/evaluate/evaluator.hpp"
#include "tune/evaluate/preparation.hpp"

namespace fatune {

/// What the final phase works with; all of it outlives the phase.
struct FinalSetting {
  CompileService& compiler;
  DeviceWorker& worker;
  PreparationSetting preparation;
  const RunPlan& run;
  std::string id_options;  ///< of candidate_id()
  Note progress;
};

class FinalPhase {
 public:
  FinalPhase(const FinalSetting& setting, const Problem& problem, const FinalPlan& plan)
      : setting_(setting), problem_(problem), plan_(plan) {}
  /// A contestant that fails stays in the list with its outcome, without times.
  Result<std::vector<FinalRecord>> run(const std::vector<Implementation>& contestants);

 private:
  /// A contestant on one problem.
  struct Build {
    std::size_t index = 0;
    std::optional<Ticket> ticket;  ///< none for an implementation from elsewhere
    LaunchPlan plan;
  };
  /// A problem with the contestants that can do it, all being compiled.
  struct Stage {
    PendingProblem pending;
    std::vector<Build> builds;
  };

  void note_infeasible(std::size_t index, const Problem& problem, const std::string& reason);
  Result<Stage> request_stage(const Problem& problem, std::vector<InputCase> cases,
                              bool skip_baselines);
  Status check_stage(const Stage& stage, const std::string& label);
  Status check_one(const Build& build, const std::optional<Compiled>& compiled,
                   const std::string& label);
  Status time_survivors();
  void take_times(std::vector<double>& rounds_us, std::int64_t launches,
                  std::optional<Timing>& timing, std::vector<double>& kept) const;
  bool alive(std::size_t index) const { return records_[index].outcome == Outcome::kMeasured; }

  const FinalSetting& setting_;
  Problem problem_;
  FinalPlan plan_;
  const std::vector<Implementation>* contestants_ = nullptr;
  std::vector<FinalRecord> records_;
  std::vector<std::optional<Program>> programs_;  ///< on the problem itself, by contestant
  std::vector<int> edges_checked_;  ///< edge problems that were possible, by contestant
};

}  // namespace fatune
