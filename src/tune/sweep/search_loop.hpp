// search_loop.hpp: Runs the searches of a problem, and divides its budget among the kernels.
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

/// Limits of a search.
struct Share {
  std::uint64_t evaluations = kUnlimited;
  double deadline_s = std::numeric_limits<double>::infinity();  ///< on the run's clock
};

/// Adds a candidate to the results of its problem and shows progress. Returns its cost; a duplicate
/// has the cost of its original.
std::optional<double> take_result(const CandidateRecord& record, RunState& run,
                                  ProblemResult& result);

/// Returns the number of evaluations that a search of `valid` configs surely makes. Less than the
/// budget if patience may end the search; a space within the budget is searched completely.
std::uint64_t sure_evaluations(const RunPlan& plan, std::uint64_t valid);

/// Gives a quarter of a problem's sure evaluations to trials of its kernels, evenly and at least
/// one each. Kernels after a small space share its remainder. All kernels compete for the rest. A
/// single kernel gets the whole budget.
class Budget {
 public:
  /// `sizes` are the valid configs of each kernel, ascending.
  Budget(const RunPlan& plan, const std::vector<std::uint64_t>& sizes, double now_s);
  /// Limits of one kernel's trial; all trials share a deadline.
  const Share& trial(std::size_t kernel) const { return trials_.at(kernel); }
  /// Limits of all kernels together.
  const Share& whole() const { return whole_; }
  /// Returns how many candidates to ask for if the fastest so far was the n-th, from 1; 0: none.
  std::uint64_t worth_asking(std::uint64_t fastest) const;

 private:
  Share whole_;
  std::vector<Share> trials_;
  std::uint64_t sure_;
  std::uint64_t patience_;
};

struct KernelStanding {
  double best_us = std::numeric_limits<double>::infinity();  ///< over results told so far
  std::uint64_t asked = 0;
  bool exhausted = false;
};

/// Returns the kernel with the fewest asks for its share, or the number of kernels if all are
/// exhausted. A share falls by a factor e per 10 % that a kernel's best is behind the leader's.
/// Shares are equal without times (docs/decisions/0014-search.md).
std::size_t next_kernel(std::span<const KernelStanding> kernels);

/// Keeps one window of candidates in flight for all searches, so that compilers and device stay
/// busy between searches. A search has at most Strategy::most_in_flight candidates there. Results
/// are told in the order of the asks, so that equal measurements give equal runs. Journalled
/// results are told in that order without evaluation, so that a resumed run asks the same
/// candidates.
class SearchLoop {
 public:
  SearchLoop(RunState& run, ProblemResult& result);
  /// `space` must outlive the loop. Searches are numbered in the order of adding.
  void add(const Space& space, std::unique_ptr<Strategy> strategy);
  std::size_t size() const { return searches_.size(); }
  const KernelStanding& standing(std::size_t search) const { return searches_.at(search); }

  /// Whether window and strategy allow another candidate in flight.
  bool has_room(std::size_t search) const;
  /// Settles the oldest candidates until the search has room or an interrupt occurs.
  Status make_room(std::size_t search);
  /// Settles the oldest candidate, which must exist. No effect after an interrupt.
  Status settle_one();
  /// Puts the search's next candidate in flight, which needs room. No effect if the space is
  /// exhausted or after an interrupt.
  Status ask(std::size_t search);
  /// Settles the candidates in flight; after an interrupt only up to the last one on the device.
  Status finish();

  /// Number of asks of all searches.
  std::uint64_t asked() const;
  /// Returns the place of the fastest candidate among told results, from 1; 0 if there is none.
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
