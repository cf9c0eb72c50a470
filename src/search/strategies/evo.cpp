// evo.cpp - a population's relatives, ranked by a model of what was told.
#include <algorithm>
#include <unordered_set>
#include <vector>

#include "search/strategies/points.hpp"
#include "search/strategies/surrogate.hpp"

namespace fatune {
namespace {

// Chosen on replays of other devices' spaces than those of docs/search.md: 6 to 16 starts, spread
// by 4 to 30 tries, neighbours of 5 to 12 points and 300 to 1,000 strangers came out alike. Of
// those, attention kernels do best with few starts.
constexpr std::uint64_t kStarts = 7;
constexpr int kSpreadTries = 4;
constexpr std::size_t kWithNeighbours = 5;              // of the best points
constexpr int kChildren = 200, kStrangers = 300;        // where the model has learnt again
constexpr int kMoreChildren = 25, kMoreStrangers = 20;  // else, beside those there are
// Where the model has learnt again, too: the best points that are moved to each value, and where
// to.
constexpr std::size_t kMoved = 3;
constexpr int kMovedTo = 1000;
// One of so many picks has a value that no point had before, because the model expects nothing of
// unseen values. 8 was better than 4 on our recorded spaces (docs/decisions/0014-search.md).
constexpr std::size_t kPicksForOneUnseen = 8;
constexpr std::size_t kRanked = 32;  // kept of a ranking, for likely(); chosen
// The most points in flight: `least`, and one more per `answers_for_one_more` answers
// (docs/decisions/0016-compiling-ahead.md).
struct InFlight {
  std::size_t least, answers_for_one_more;
};
constexpr InFlight kFewEvaluations{2, 8}, kLittleTime{6, 4};

/// The values of each axis that points had.
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

class Evo final : public DeckStrategy {
 public:
  Evo(const Lattice& space, const StrategyOptions& options)
      : DeckStrategy("evo", space, options),
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
      if (deck_.has(index)) points.push_back(space_.point(index));
    }
    return points;
  }

  void tell(const Told& told) override {
    ++told_;
    const auto place = std::find(pending_.begin(), pending_.end(), told.point);
    if (place != pending_.end()) pending_.erase(place);
    surrogate_.tell(told.point, told.cost);
    // A duplicate is the same kernel again: it would only crowd out others.
    if (told.cost && !told.duplicate) population_.join(told.point, *told.cost);
  }

 private:
  /// At most `count` of the next points that do not depend on observations, drawn on copies of the
  /// state.
  std::vector<Point> rest_of_spread(std::size_t count) const {
    std::vector<Point> rest;
    Spread spread = spread_;
    Deck deck = deck_;
    Rng rng = rng_;
    while (rest.size() < count && deck.left() > 0) {
      auto index = spread.start(deck);
      if (!index && spread.wanted()) index = spread.next(deck, rng);
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
    if (const auto index = spread_.start(deck_)) return *index;
    const bool blind = population_.size() == 0 || !surrogate_.ready();
    if (spread_.wanted() || blind) return spread_.next(deck_, rng_);
    if (surrogate_.refresh(rng_)) {
      pool_.clear();
      add_relatives(kChildren, kStrangers);
      add_moved();
    } else {
      add_relatives(kMoreChildren, kMoreStrangers);
    }
    std::vector<std::uint64_t> candidates = gather_candidates();
    if (candidates.empty()) return spread_.next(deck_, rng_);
    ranking_ = ranked(candidates);
    std::uint64_t chosen = ranking_.front();
    if (++picks_ % kPicksForOneUnseen == 0) {
      const std::vector<std::uint64_t> unseen = with_unseen_value(candidates);
      if (!unseen.empty()) chosen = ranked(unseen).front();
    }
    deck_.take(chosen);
    return chosen;
  }

  /// What promises most, best first.
  std::vector<std::uint64_t> ranked(const std::vector<std::uint64_t>& candidates) {
    std::vector<Point> points;
    for (const std::uint64_t index : candidates) points.push_back(space_.point(index));
    std::vector<std::uint64_t> best;
    for (const std::size_t place : surrogate_.most_promising(points, pending_, kRanked))
      best.push_back(candidates[place]);
    return best;
  }

  /// To the pool, from which they go when the model learns again: until then it remembers them.
  void add_relatives(int children, int strangers) {
    if (one_lever_) return;
    for (int i = 0; i < children; ++i) {
      if (const auto index = space_.index_of(population_.breed(rng_))) pool_.push_back(*index);
    }
    for (int i = 0; i < strangers; ++i) pool_.push_back(deck_.peek(rng_));
  }

  /// To the pool: the best, changed as little as a sample allows, so that each value of each axis
  /// comes up. Values that are valid only together are in no neighbour, and rarely in a stranger.
  void add_moved() {
    if (one_lever_) return;
    std::vector<Point> sample;
    for (int i = 0; i < kMovedTo; ++i) sample.push_back(space_.point(deck_.peek(rng_)));
    for (std::size_t rank = 0; rank < std::min(kMoved, population_.size()); ++rank) {
      for (const Point& point : nearest_by_value(space_, population_.member(rank), sample)) {
        if (const auto index = space_.index_of(point)) pool_.push_back(*index);
      }
    }
  }

  /// Untried points, each once: neighbours of the best, and the pool.
  std::vector<std::uint64_t> gather_candidates() const {
    std::vector<std::uint64_t> candidates;
    std::unordered_set<std::uint64_t> seen;
    const auto add = [&](std::uint64_t index) {
      if (deck_.has(index) && seen.insert(index).second) candidates.push_back(index);
    };
    const std::size_t bases =
        one_lever_ ? population_.size() : std::min(kWithNeighbours, population_.size());
    for (std::size_t rank = 0; rank < bases; ++rank) {
      std::ranges::for_each(untried_neighbours(space_, deck_, population_.member(rank)), add);
    }
    std::ranges::for_each(pool_, add);
    return candidates;
  }

  /// Those with a value that no point asked for has had.
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
  bool tries_all_;  ///< in whatever order
  InFlight in_flight_;
  std::vector<std::uint64_t> pool_;
  std::vector<std::uint64_t> ranking_;  ///< what promised most when the model last chose
  std::vector<Point> pending_;          ///< asked, not told
  std::size_t told_ = 0;
  std::size_t picks_ = 0;  ///< of the model
};

}  // namespace

std::unique_ptr<Strategy> make_evo(const Lattice& space, const StrategyOptions& options) {
  return std::make_unique<Evo>(space, options);
}

}  // namespace fatune
