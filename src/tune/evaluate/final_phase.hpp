// final_phase.hpp: Runs contestants through gates, edge problems and interleaved rounds.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
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

class FinalPhase {
 public:
  FinalPhase(const FinalSetting& setting, const Problem& problem, const FinalPlan& plan);
  /// Returns one record per contestant, followed by the reserves if used. A failed contestant has
  /// its outcome and no times.
  Result<std::vector<FinalRecord>> run(const std::vector<Implementation>& contestants);

 private:
  using Places = std::vector<std::size_t>;  ///< indices of contestants

  /// A contestant on one problem.
  struct Build {
    std::size_t index = 0;
    std::optional<Ticket> ticket;  ///< none for an external implementation
    LaunchPlan plan;
    std::optional<Compiled> compiled = {};  ///< set if the compilation ended before the stage began
  };
  /// A problem with the contestants that support it, all being compiled.
  struct Stage {
    PendingProblem pending;
    std::optional<BeginOrder> order = {};  ///< set once the order's programs are compiled
    std::vector<Build> builds;
    bool last_resort = false;
  };

  void describe_contestants(std::size_t first, std::size_t end);
  void note_infeasible(std::size_t index, const Problem& problem, const std::string& reason);
  Result<Stage> request_stage(const Problem& problem, std::vector<InputCase> cases,
                              const Places& contestants);
  Status request_build(std::size_t index, Stage& stage);
  std::vector<InputCase> main_cases() const;
  Status finish_builds(Stage& stage);
  Status draw_seed(Stage& main);
  void note_compile_error(const Build& build, const Compiled& compiled, const std::string& where);
  Status begin(Stage& stage);
  Status check_stage(Stage& stage, const std::string& label);
  Status check_builds(Stage& stage, const std::string& label);
  Status check_build(const Build& build, const std::string& label);
  Status check_one(const Build& build, const std::optional<Compiled>& compiled,
                   const std::string& label);
  Status time(const Places& contestants, bool again);
  void take_row(std::size_t index, RoundsRow& row, bool again);
  Places survivors() const;
  void take_times(std::vector<double>& rounds_us, std::int64_t launches,
                  std::optional<Timing>& timing, std::vector<double>& kept) const;
  bool alive(std::size_t index) const { return records_[index].outcome == Outcome::kMeasured; }
  bool needs_reserves() const;
  Status call_reserves(Stage& main);
  Status contest(Stage& main, std::vector<Stage>& edges);
  void cancel(const Stage& stage);

  // Edge problems and the winner: edge_problems.cpp.
  Places candidates_for_edges() const;
  static bool asks(const Stage& stage, std::size_t index);
  bool persists(std::size_t index, const Problem& problem) const;
  Result<std::vector<Stage>> request_edges(const Places& contestants);
  Status request_last_resort(const Places& contestants, std::vector<Stage>& edges);
  Status check_edges(std::vector<Stage>& edges);
  std::optional<std::size_t> place_of_winner() const;
  void note_edges(std::size_t index, const std::vector<Stage>& edges);
  Status settle_winner(Stage& main, std::vector<Stage>& edges);
  std::optional<std::size_t> noisy_winner() const;
  Status time_again(std::size_t winner);
  Status prove_winner(std::vector<Stage>& edges, std::set<std::size_t>& proved);
  Status leave_edges_to(std::size_t winner, std::vector<Stage>& edges);

  const FinalSetting& setting_;
  Note progress_;  ///< also dispatches queued compilations while the device works
  Problem problem_;
  FinalPlan plan_;
  std::uint64_t seed_;                       ///< of the inputs
  std::vector<Implementation> contestants_;  ///< followed by the reserves
  std::vector<FinalRecord> records_;
  std::vector<std::optional<Program>> programs_;            ///< by contestant, for the main problem
  std::vector<std::optional<Verification>> before_rounds_;  ///< by contestant
  Stage* begun_ = nullptr;                ///< the stage whose references are on the device
  std::vector<int> edges_checked_;        ///< number of possible edge problems, by contestant
  std::set<std::size_t> at_last_resort_;  ///< contestants checked on the last-resort problem
};

}  // namespace fatune
