// evaluator.hpp: Defines the interface through which searches get candidates measured.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/fields_fwd.hpp"
#include "core/result.hpp"
#include "model/kernel/candidate.hpp"
#include "model/results/journal.hpp"
#include "model/results/measurement.hpp"
#include "model/results/record.hpp"
#include "tune/evaluate/implementations.hpp"

namespace fatune {

/// Returns the id of the currently winning record; empty for none.
using PickWinner = std::function<std::string(const std::vector<FinalRecord>&)>;

struct FinalPlan {
  int rounds = 40;  ///< 0: run the gates only
  int launches_per_round = 5;
  std::uint64_t seed = 42;  ///< for the order of rounds and the bootstrap
  bool edge_problems = true;
  /// Limits edge problems to the winner, and to the next contestant if the winner fails.
  PickWinner winner = nullptr;
  /// Replace the finalists of their kernel if all of these are refused. Reserves belong to one
  /// kernel and require `winner`.
  std::vector<Implementation> reserves = {};
  bool secret_inputs = false;  ///< the input seed is drawn after all compilations and not disclosed
};

/// How thoroughly a submitted kernel is checked; each level includes the previous one.
enum class Scrutiny {
  kCheck,  ///< compiler and gates
  kRank,   ///< a few rounds, enough for intervals, and the gates of timed launches
  kFinal   ///< edge problems, and all the rounds of a final phase
};
std::string_view name(Scrutiny scrutiny);  ///< "check", "rank", "final"
Result<Scrutiny> parse_scrutiny(std::string_view text);
FieldWord<Scrutiny> word_of(const Scrutiny*);
/// Returns the plan for submitted kernels, with secret inputs.
FinalPlan examination_plan(Scrutiny scrutiny);
/// Draws an unpredictable seed for inputs.
std::uint64_t unknown_seed();

/// Called with a candidate's id and the positions of wrong outputs.
using NoteErrors =
    std::function<void(const std::string& id, const std::vector<ErrorRegion>& regions)>;

/// Turns candidates into records, one problem at a time. A failing candidate is a record; only the
/// loss of the device is an error.
class Evaluator {
 public:
  virtual ~Evaluator() = default;
  virtual const Environment& environment() const = 0;
  /// Further devices that measure candidates; finals run on environment()'s device only.
  virtual std::vector<Environment> helpers() const { return {}; }
  /// Prepares inputs, reference and limits; the reference is validated before any measurement. Uses
  /// objective, skip_correctness, record_cold and seed count of the plan. The first collect() may
  /// return the error of a problem that could not begin.
  virtual Status begin_problem(const Problem& problem, const RunPlan& plan) = 0;
  /// Names the baselines of the final phase of the current problem, so that slow libraries are
  /// opened during the search.
  virtual Status expect(const std::vector<Implementation>& /*baselines*/) { return {}; }
  /// Maximum number of candidates in flight, chosen so that one long compilation leaves no compile
  /// process idle.
  virtual std::size_t capacity() const = 0;
  /// Starts work on a candidate without waiting.
  virtual Status submit(const Candidate& candidate) = 0;
  /// Names the most likely next candidates, the likeliest first, replacing earlier names. Idle
  /// compile processes may compile these candidates ahead; no record depends on it.
  virtual void prepare(std::vector<Candidate> /*likely*/) {}
  /// Maximum number of candidates to compile ahead; 0 if this evaluator does not compile.
  virtual std::size_t worth_preparing() const { return 0; }
  /// Waits for the oldest submitted candidate, so that records come in the order of submission.
  virtual Result<CandidateRecord> collect() = 0;
  /// Adds a journalled result of a resumed run, after begin_problem() of its problem. Duplicates of
  /// its machine code and the early kill then use the result. Measures nothing.
  virtual void remember(const Candidate&, const CandidateRecord&) {}
  /// Runs the final phase in a fresh process: all gates, edge problems, and interleaved rounds in
  /// random order.
  virtual Result<std::vector<FinalRecord>> finals(const std::vector<Implementation>& contestants,
                                                  const FinalPlan& plan) = 0;
  /// Examines submitted kernels and baselines on one problem, which need not have begun, in a fresh
  /// process. `plan`: see examination_plan().
  virtual Result<std::vector<FinalRecord>> examine(const std::vector<Implementation>& contestants,
                                                   const FinalPlan& plan) = 0;

  /// Called with a candidate's id and key just before its first run on the device.
  std::function<Status(const StartedRecord&)> on_start;
  /// Called when the device has a result before its turn to be collected, for the journal. A
  /// collected candidate may since have become a duplicate of an older one.
  std::function<Status(const CandidateRecord&)> on_early_result;
  /// Called while waiting, a few times a second, to redraw progress; `phase` is "compiling",
  /// "verifying", "timing" or "final 12/40".
  std::function<void(std::string_view phase)> on_progress;
  /// Called for contestants that the gate "accuracy" refuses.
  NoteErrors on_errors;
};

/// Returns an evaluator that answers from a journal, with every record marked `recorded`. Former
/// names of `kernels` are brought up to date. A candidate without a record is `pruned` with the
/// reason "not in the recording". An implementation without a final record is `unavailable`, and an
/// unknown problem is a usage error that lists the recorded ones. The answer of examine() is
/// `unavailable` for a kernel whose text is none of the texts of `kernels`.
Result<std::unique_ptr<Evaluator>> make_recorded_evaluator(Environment environment,
                                                           std::vector<Record> records,
                                                           std::span<const KernelRef> kernels = {});

}  // namespace fatune
