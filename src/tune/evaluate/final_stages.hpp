// final_stages.hpp: Compiles the contestants of a final phase, and runs them through the gates of
// one problem after another.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tune/evaluate/final_phase.hpp"

namespace fatune {

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
  std::string label;  ///< of an edge problem; empty: the main problem
  PendingProblem pending;
  std::optional<BeginOrder> order = {};  ///< set once the order's programs are compiled
  std::vector<Build> builds;
  bool last_resort = false;

  bool has(std::size_t index) const;
};

/// A contestant, with the state that its record does not hold.
struct Contender {
  Implementation implementation;
  std::optional<Program> program = {};             ///< for the main problem, once it ran there
  std::optional<Verification> before_rounds = {};  ///< gates of the main problem
  int edges_checked = 0;                           ///< edge problems that its config can do

  bool is_baseline() const { return implementation.role == RowRole::kBaseline; }
};

class FinalStages {
 public:
  FinalStages(const FinalSetting& setting, const Problem& problem);

  /// Adds contestants, with a record each.
  void add(std::span<const Implementation> contestants);
  /// Submits the compilations of a problem and its contestants.
  Result<Stage> request(const Problem& problem, std::vector<InputCase> cases,
                        const Places& contestants, std::string label = "");
  /// Adds no build if the contestant's config is not possible on the problem.
  Status request_build(std::size_t index, Stage& stage);
  /// Waits for the compilations, and removes contestants that do not compile.
  Status finish_builds(Stage& stage);
  /// Makes the references of the stage's problem on the device.
  Status begin(Stage& stage);
  /// Begins the stage, and checks its contestants.
  Status check(Stage& stage);
  /// Checks the contestants of the stage that has begun.
  Status check_builds(Stage& stage);
  /// Runs a contestant on the stage that has begun, unless the contestant has failed before.
  Status check_build(const Build& build);
  /// Cancels the compilations of a stage that nothing awaits.
  void cancel(const Stage& stage);

  bool alive(std::size_t index) const { return records[index].outcome == Outcome::kMeasured; }
  Places survivors() const;

  const FinalSetting& setting;
  const Problem problem;
  const Note progress;  ///< also dispatches queued compilations while the device works
  std::vector<Contender> contenders;
  std::vector<FinalRecord> records;  ///< by contender
  Stage* begun = nullptr;            ///< the stage whose references are on the device

 private:
  void note_infeasible(std::size_t index, const Stage& stage, const std::string& reason);
  void note_compile_error(const Build& build, const Compiled& compiled, const std::string& where);
  Status check_one(const Build& build, const std::optional<Compiled>& compiled);
};

/// Times contestants in rounds; the last rounds decide times and gates of timed launches. `again`:
/// the contestants were chosen by the times of earlier rounds.
Status time_in_rounds(FinalStages& stages, const FinalPlan& plan, const Places& contestants,
                      bool again);

}  // namespace fatune
