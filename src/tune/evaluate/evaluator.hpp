// evaluator.hpp - the seam between search and device: candidates in, records out.
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
#include "model/problem/suite.hpp"
#include "model/results/error_region.hpp"
#include "model/results/journal.hpp"
#include "model/results/measurement.hpp"
#include "model/results/record.hpp"
#include "tune/evaluate/implementations.hpp"

namespace fatune {

/// The id of the record that wins as things stand; empty for none.
using PickWinner = std::function<std::string(const std::vector<FinalRecord>&)>;

struct FinalPlan {
  int rounds = 40;  ///< 0: the gates alone
  int launches_per_round = 5;
  std::uint64_t seed = 42;  ///< order of the rounds and bootstrap
  bool edge_problems = true;
  /// With it, edge problems are for the winner alone, and for the next one when it fails.
  PickWinner winner = nullptr;
  /// Take the places of the finalists of their kernel when every one was refused; of one kernel,
  /// and only beside `winner`.
  std::vector<Implementation> reserves = {};
  bool secret_inputs = false;  ///< their seed is drawn once everything is compiled, and not told
};

/// How much is asked of kernels that somebody else submits; each includes the one before.
enum class Scrutiny {
  kCheck,  ///< compiler and gates
  kRank,   ///< a few rounds, enough for intervals, and the gates of timed launches
  kFinal   ///< edge problems, and all the rounds of a final phase
};
std::string_view name(Scrutiny scrutiny);  ///< "check", "rank", "final"
Result<Scrutiny> parse_scrutiny(std::string_view text);
FieldWord<Scrutiny> word_of(const Scrutiny*);
/// On inputs that nobody knows.
FinalPlan examination_plan(Scrutiny scrutiny);
/// For inputs: that nobody knows before.
std::uint64_t unknown_seed();

/// Called with a candidate's id and where its outputs are wrong.
using NoteErrors =
    std::function<void(const std::string& id, const std::vector<ErrorRegion>& regions)>;

/// Turns candidates into records. One problem at a time; a failing candidate is a record, only the
/// end of the device is an error.
class Evaluator {
 public:
  virtual ~Evaluator() = default;
  virtual const Environment& environment() const = 0;
  /// Other devices that measure candidates of its searches; finals are of the one above.
  virtual std::vector<Environment> helpers() const { return {}; }
  /// Inputs, reference and limits for a problem; the reference is validated before anything is
  /// measured. Of the plan, objective, skip_correctness, record_cold and seed count. An error of
  /// the first collect() may be that of a problem that could not begin.
  virtual Status begin_problem(const Problem& problem, const RunPlan& plan) = 0;
  /// Names what the final phase of the problem begun will measure the winners against; what is slow
  /// to open is opened during the search.
  virtual Status expect(const std::vector<Implementation>& /*baselines*/) { return {}; }
  /// Max. number of candidates in flight: enough that one long compilation leaves no compile
  /// process idle.
  virtual std::size_t capacity() const = 0;
  /// Starts work on a candidate; does not wait for it.
  virtual Status submit(const Candidate& candidate) = 0;
  /// Names the candidates that are likely to be submitted next, the likeliest first; they replace
  /// those named before. Idle compile processes may compile them ahead. No record depends on it.
  virtual void prepare(std::vector<Candidate> /*likely*/) {}
  /// Max. number of candidates to compile speculatively; 0 if this evaluator does not compile.
  virtual std::size_t worth_preparing() const { return 0; }
  /// Waits for the oldest submitted candidate, so that records come in the order of submission.
  virtual Result<CandidateRecord> collect() = 0;
  /// Takes note of a journalled result of a resumed run, after begin_problem() of its problem: its
  /// machine code (for duplicates) and time (for the early kill) are known. Measures nothing.
  virtual void remember(const Candidate&, const CandidateRecord&) {}
  /// Final phase: interleaved rounds in random order in a fresh process; every gate again, edge
  /// problems too.
  virtual Result<std::vector<FinalRecord>> finals(const std::vector<Implementation>& contestants,
                                                  const FinalPlan& plan) = 0;
  /// Submitted kernels, and what they are compared with, all on one problem, which need not have
  /// begun, in a process that nothing else has run in. `plan`: see examination_plan().
  virtual Result<std::vector<FinalRecord>> examine(const std::vector<Implementation>& contestants,
                                                   const FinalPlan& plan) = 0;

  /// Called with a candidate's id and key just before it first runs on the device.
  std::function<Status(const StartedRecord&)> on_start;
  /// Called when the device has a result before its turn to be collected, so that it is journalled
  /// at once. When it is collected, it may have become a duplicate of an older candidate.
  std::function<Status(const CandidateRecord&)> on_early_result;
  /// Called while waiting, a few times a second, to redraw progress; `phase` is "compiling",
  /// "verifying", "timing", "final 12/40".
  std::function<void(std::string_view phase)> on_progress;
  /// Of contestants that the gate "accuracy" refuses.
  NoteErrors on_errors;
};

/// An evaluator whose every answer comes from a journal and says `recorded`. Names that the
/// `kernels` had formerly are brought up to date. A candidate that the journal does not hold is
/// `pruned` with the reason "not in the recording"; an implementation in the finals is
/// `unavailable`; a problem is a usage error that lists those it holds. examine() answers for a
/// kernel with the text of one of `kernels` alone: any other is `unavailable`.
Result<std::unique_ptr<Evaluator>> make_recorded_evaluator(Environment environment,
                                                           std::vector<Record> records,
                                                           std::span<const KernelRef> kernels = {});

}  // namespace fatune
