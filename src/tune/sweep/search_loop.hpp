// search_loop.hpp - runs the searches of a problem's kernels: ask, evaluate, journal, tell; and
// shares the problem's budget out over them: trials, then turns.
#pragma once

#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "model/results/sweep_result.hpp"
#include "search/strategies/strategy.hpp"
#include "tune/sweep/run_state.hpp"

namespace fatune {

inline constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

/// How far searches may go.
struct Share {
  std::uint64_t evaluations = kUnlimited;
  double deadline_s = std::numeric_limits<double>::infinity();  ///< on the run's clock
};

/// Counts a candidate among the results of its problem and shows it; what it costs, which a
/// duplicate has of its original.
std::optional<double> take_result(const CandidateRecord& record, RunState& run,
                                  ProblemResult& result);

/// The evaluations that a problem's search has for sure, where `valid` are all configs: less than
/// the budget when patience may end it. A space within the budget is tried whole.
std::uint64_t sure_evaluations(const RunPlan& plan, std::uint64_t valid);

/// A quarter of a problem's sure evaluations goes to trials of its kernels, evenly and at least one
/// candidate each (what a small space leaves, to those after it); they then compete for the rest. A
/// single kernel has it all.
class Budget {
 public:
  /// `sizes` are the valid configs of each kernel, ascending.
  Budget(const RunPlan& plan, const std::vector<std::uint64_t>& sizes, double now_s);
  /// What one kernel's trial may use; all trials have the same deadline.
  const Share& trial(std::size_t kernel) const { return trials_.at(kernel); }
  /// What all of them together may use.
  const Share& whole() const { return whole_; }
  /// How many candidates to ask for when the fastest so far was the n-th, from 1; 0: there is none.
  std::uint64_t worth_asking(std::uint64_t fastest) const;

 private:
  Share whole_;
  std::vector<Share> trials_;
  std::uint64_t sure_;
  std::uint64_t patience_;
};

struct KernelStanding {
  double best_us = std::numeric_limits<double>::infinity();  ///< told so far
  std::uint64_t asked = 0;
  bool exhausted = false;
};

/// The kernel that was asked least for its share, or the number of kernels if all are exhausted.
/// A share falls by e for each tenth that a kernel's best is behind the leader's. Shares are equal
/// while there is no time (docs/decisions/0014-search.md).
std::size_t next_kernel(std::span<const KernelStanding> kernels);

/// One window of candidates in flight for all searches, so that neither compilers nor device wait
/// while one search ends and another begins; of it a search has as many as its strategy can make
/// use of (Strategy::most_in_flight). Results are told in the order of the asks, however
/// their compilations end: the same measurements give the same run. What the journal holds takes
/// its place in that order without being evaluated, so a resumed run asks what the first one asked.
class SearchLoop {
 public:
  SearchLoop(RunState& run, ProblemResult& result);
  /// `space` must outlive the loop. Searches are numbered in the order in which they are added.
  void add(const Space& space, std::unique_ptr<Strategy> strategy);
  std::size_t size() const { return searches_.size(); }
  const KernelStanding& standing(std::size_t search) const { return searches_.at(search); }

  /// In the window, and among the candidates that the search's strategy may have in flight.
  bool has_room(std::size_t search) const;
  /// Settles the oldest in flight until the search has room, or until an interrupt.
  Status make_room(std::size_t search);
  /// Settles the oldest in flight, of which there must be one; nothing happens after an interrupt.
  Status settle_one();
  /// Puts the search's next candidate in flight, for which there must be room; nothing happens when
  /// the space is exhausted or after an interrupt.
  Status ask(std::size_t search);
  /// Settles what is in flight; after an interrupt only what is on the device, and all that was
  /// asked before it.
  Status finish();

  /// By all searches.
  std::uint64_t asked() const;
  /// Of what was told, the place of the fastest candidate, from 1; 0 while there is none.
  std::uint64_t fastest() const { return fastest_; }
  bool in_flight() const { return !window_.empty(); }

 private:
  struct Search : KernelStanding {
    const Space* space = nullptr;
    std::unique_ptr<Strategy> strategy;
    std::size_t in_flight = 0;
  };
  struct Slot {
    std::size_t search;
    Point point;
    std::string key;
    std::optional<CandidateRecord> known;
  };
  Status put_in_flight(std::size_t search, const Point& point);
  void prepare(const Search& search);
  Status settle();
  void tell(const Slot& slot, const CandidateRecord& record);
  bool stopped();
  bool worth_waiting() const;

  RunState& run_;
  ProblemResult& result_;
  std::size_t capacity_;
  std::vector<Search> searches_;
  std::deque<Slot> window_;
  std::uint64_t told_ = 0, fastest_ = 0;
  double fastest_us_ = std::numeric_limits<double>::infinity();
};

}  // namespace fatune
