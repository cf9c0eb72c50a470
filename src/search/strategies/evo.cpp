// evo.cpp: Implements evo: Bayesian optimisation over mutated and random configs.
#include <algorithm>
#include <unordered_set>
#include <vector>

#include "search/strategies/points.hpp"
#include "search/strategies/surrogate.hpp"

namespace fatune {
namespace {

// Chosen on replays of spaces of other devices than those in docs/search.md. These ranges were
// equally good: 6 to 16 start points, 4 to 30 spread tries, neighbours of 5 to 12 points, and 300
// to 1,000 random configs. Attention kernels do best with few start points.
constexpr std::uint64_t kStarts = 7;
constexpr int kSpreadTries = 4;
constexpr std::size_t kWithNeighbours = 5;  // best points whose neighbours are candidates
constexpr int kMutatedAtRefit = 200, kRandomAtRefit = 300;  // added when the model was refitted
constexpr int kMutatedBetween = 25, kRandomBetween = 20;    // added between two refits
// After a refit the nearest of kMovedTo random points is added for each of the kMoved best points
// and each value.
constexpr std::size_t kMoved = 3;
constexpr int kMovedTo = 1000;
// One pick in so many has a value that no earlier point had, because the model predicts no gain for
// unseen values. On our recorded spaces 8 was better than 4 (docs/decisions/0014-search.md).
constexpr std::size_t kPicksForOneUnseen = 8;
constexpr std::size_t kRanked = 32;  // length of the ranking kept for likely(); chosen
// The largest number of points in flight: `least`, plus one per `answers_for_one_more` observations
// (docs/decisions/0016-compiling-ahead.md).
struct InFlight {
  std::size_t least, answers_for_one_more;
};
constexpr InFlight kFewEvaluations{2, 8}, kLittleTime{6, 4};

/// The values of each axis that earlier points had.
class SeenValues {
 public:
  explicit SeenValues(const Lattice& space) {
    for (const Axis& axis : space.axes()) seen_.emplace_back(axis.size, false);
  }

  void add(const Point& point) {
    for (std::size_t axis = 0; axis < point.size(); ++axis) seen_[axis][point[axis]] = true;
  }
  bool has_new(const Point& point) const {
    for (std::size_t axis = 0; axis < point.size(); ++axis) {
      if (!seen_[axis][point[axis]]) return true;
    }
    return false;
  }

 private:
  std::vector<std::vector<bool>> seen_;
};

class Evo final : public UntriedSetStrategy {
 public:
  Evo(const Lattice& space, const StrategyOptions& options)
      : UntriedSetStrategy("evo", space, options),
        population_(space, options),
        seen_(space),
        spread_(space, options, {kStarts, kSpreadTries}),
        surrogate_(space),
        one_lever_(options.one_lever),
        tries_all_(space.size() <= options.budget),
        in_flight_(options.scarce == Scarce::kTime ? kLittleTime : kFewEvaluations) {}

  std::size_t most_in_flight() const override {
    if (tries_all_) return Strategy::most_in_flight();
    const std::size_t known = in_flight_.least + told_ / in_flight_.answers_for_one_more;
    // Points of the spread do not depend on observations.
    if (spread_.wanted()) return std::max<std::size_t>(known, pending_.size() + spread_.left());
    return known;
  }

  std::vector<Point> likely(std::size_t count) const override {
    std::vector<Point> points = rest_of_spread(count);
    for (const std::uint64_t index : ranking_) {
      if (points.size() >= count) break;
      if (untried_.has(index)) points.push_back(space_.point(index));
    }
    return points;
  }

  void tell(const EvaluatedPoint& told) override {
    ++told_;
    const auto place = std::find(pending_.begin(), pending_.end(), told.point);
    if (place != pending_.end()) pending_.erase(place);
    surrogate_.tell(told.point, told.cost);
    // A duplicate has the machine code of a member and would only displace another kernel.
    if (told.cost && !told.duplicate) population_.join(told.point, *told.cost);
  }

 private:
  /// Returns at most `count` of the next points that do not depend on observations. The state is
  /// copied and does not change.
  std::vector<Point> rest_of_spread(std::size_t count) const {
    std::vector<Point> rest;
    Spread spread = spread_;
    UntriedSet untried = untried_;
    Rng rng = rng_;
    while (rest.size() < count && untried.left() > 0) {
      auto index = spread.start(untried);
      if (!index && spread.wanted()) index = spread.next(untried, rng);
      if (!index) break;
      rest.push_back(space_.point(*index));
      spread.keep_from(rest.back());
    }
    return rest;
  }

  void note_asked(const Point& point) override {
    spread_.keep_from(point);
    seen_.add(point);
    pending_.push_back(point);
  }

  std::uint64_t next_index() override {
    if (const auto index = spread_.start(untried_)) return *index;
    const bool blind = population_.size() == 0 || !surrogate_.ready();
    if (spread_.wanted() || blind) return spread_.next(untried_, rng_);
    if (surrogate_.refresh(rng_)) {
      pool_.clear();
      add_mutated_and_random(kMutatedAtRefit, kRandomAtRefit);
      add_moved();
    } else {
      add_mutated_and_random(kMutatedBetween, kRandomBetween);
    }
    std::vector<std::uint64_t> candidates = gather_candidates();
    if (candidates.empty()) return spread_.next(untried_, rng_);
    ranking_ = ranked(candidates);
    std::uint64_t chosen = ranking_.front();
    if (++picks_ % kPicksForOneUnseen == 0) {
      const std::vector<std::uint64_t> unseen = with_unseen_value(candidates);
      if (!unseen.empty()) chosen = ranked(unseen).front();
    }
    untried_.take(chosen);
    return chosen;
  }

  /// Returns the candidates of largest expected improvement, best first.
  std::vector<std::uint64_t> ranked(const std::vector<std::uint64_t>& candidates) {
    std::vector<Point> points;
    for (const std::uint64_t index : candidates) points.push_back(space_.point(index));
    std::vector<std::uint64_t> best;
    for (const std::size_t place : surrogate_.most_promising(points, pending_, kRanked))
      best.push_back(candidates[place]);
    return best;
  }

  /// Adds mutated and random configs to the pool, which is emptied when the model is refitted.
  void add_mutated_and_random(int children, int random) {
    if (one_lever_) return;
    for (int i = 0; i < children; ++i) {
      if (const auto index = space_.index_of(population_.breed(rng_))) pool_.push_back(*index);
    }
    for (int i = 0; i < random; ++i) pool_.push_back(untried_.peek(rng_));
  }

  /// Adds the best points, changed as little as a sample allows, so that each value of each axis
  /// occurs. Values that are valid only together occur in no neighbour, and rarely in random
  /// configs.
  void add_moved() {
    if (one_lever_) return;
    std::vector<Point> sample;
    for (int i = 0; i < kMovedTo; ++i) sample.push_back(space_.point(untried_.peek(rng_)));
    for (std::size_t rank = 0; rank < std::min(kMoved, population_.size()); ++rank) {
      for (const Point& point : nearest_by_value(space_, population_.member(rank), sample)) {
        if (const auto index = space_.index_of(point)) pool_.push_back(*index);
      }
    }
  }

  /// Returns the untried neighbours of the best points and the untried points of the pool, each
  /// once.
  std::vector<std::uint64_t> gather_candidates() const {
    std::vector<std::uint64_t> candidates;
    std::unordered_set<std::uint64_t> seen;
    const auto add = [&](std::uint64_t index) {
      if (untried_.has(index) && seen.insert(index).second) candidates.push_back(index);
    };
    const std::size_t bases =
        one_lever_ ? population_.size() : std::min(kWithNeighbours, population_.size());
    for (std::size_t rank = 0; rank < bases; ++rank) {
      std::ranges::for_each(untried_neighbours(space_, untried_, population_.member(rank)), add);
    }
    std::ranges::for_each(pool_, add);
    return candidates;
  }

  /// Returns the candidates with a value that no earlier point had.
  std::vector<std::uint64_t> with_unseen_value(const std::vector<std::uint64_t>& all) const {
    std::vector<std::uint64_t> unseen;
    std::ranges::copy_if(all, std::back_inserter(unseen),
                         [&](std::uint64_t index) { return seen_.has_new(space_.point(index)); });
    return unseen;
  }

  Population population_;
  SeenValues seen_;
  Spread spread_;
  Surrogate surrogate_;
  bool one_lever_;
  bool tries_all_;  ///< the budget covers the space
  InFlight in_flight_;
  std::vector<std::uint64_t> pool_;
  std::vector<std::uint64_t> ranking_;  ///< from the model's latest choice, best first
  std::vector<Point> pending_;          ///< points asked and not yet told
  std::size_t told_ = 0;
  std::size_t picks_ = 0;  ///< points that the model chose
};

}  // namespace

std::unique_ptr<Strategy> make_evo(const Lattice& space, const StrategyOptions& options) {
  return std::make_unique<Evo>(space, options);
}

}  // namespace fatune
