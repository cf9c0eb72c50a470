// search_loop.hpp - runs the searches of a problem's kernels: ask, evaluate, journal, tell.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "model/results/sweep_result.hpp"
#include "search/strategies/strategy.hpp"
#include "tune/sweep/run_state.hpp"

namespace fatune {

/// One window of candidates in flight for all searches, so that neither compilers nor device wait
/// while one search ends and another begins; of it a search has as many as its strategy can make
/// use of (Strategy::most_in_flight). Results are told in the order of the asks, however
/// their compilations end: the same measurements give the same run. What the journal holds takes
/// its place in that order without being evaluated, so a resumed run asks what the first one asked.
class SearchLoop {
 public:
  SearchLoop(RunState& run, ProblemResult& result);
  /// Returns the search's number. `space` and `strategy` must outlive the loop.
  std::size_t add(const Space& space, Strategy& strategy);

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

  std::uint64_t asked(std::size_t search) const { return searches_.at(search).asked; }
  std::uint64_t asked() const;
  bool exhausted(std::size_t search) const { return searches_.at(search).exhausted; }
  /// The least time told to the search; infinity before the first.
  double best_us(std::size_t search) const { return searches_.at(search).best_us; }

 private:
  struct Search {
    const Space* space;
    Strategy* strategy;
    std::uint64_t asked = 0;
    std::size_t in_flight = 0;
    bool exhausted = false;
    double best_us;
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
  Status settle_oldest();
  void tell(const Slot& slot, const CandidateRecord& record);
  bool stopped();
  bool worth_waiting() const;

  RunState& run_;
  ProblemResult& result_;
  std::size_t capacity_;
  std::vector<Search> searches_;
  std::deque<Slot> window_;
};

}  // namespace fatune
