// ga.cpp - breeds points from the best told so far.
#include "search/ga.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "search/deck.hpp"
#include "search/points.hpp"
#include "search/rng.hpp"
#include "search/start.hpp"

namespace fatune {
namespace {

// Chosen on replays of 19 published spaces, where values around them did alike: populations of 8 to
// 20, starts of 8 to 24, tournaments of 2 to 5, crossover in 3 to 9 of 10 cases.
constexpr std::size_t kPopulation = 12;
constexpr std::uint64_t kFewestStarts = 8, kMostStarts = 16, kBudgetPerStart = 8;
constexpr std::uint64_t kTournament = 3;
constexpr double kCrossoverShare = 0.7;
constexpr double kMutateAfterCrossover = 0.5;
constexpr std::size_t kElites = 3;
constexpr double kLocalShare = 0.2;    // of children: a single-axis neighbour of an elite
constexpr double kLocalAtBest = 0.7;   // of those: of the very best
constexpr int kBreedTries = 200;       // until a child is valid and new
constexpr int kPatience = 40;          // evaluations without progress before a restart
constexpr double kProgress = 0.005;    // a gain below this share is none
constexpr std::size_t kSurvivors = 4;  // of a restart

class Ga final : public Strategy {
 public:
  Ga(const Space& space, const StrategyOptions& options)
      : space_(space), deck_(space.size()), start_(space, options.start), rng_(options.seed) {
    spread_left_ = std::clamp(options.budget / kBudgetPerStart, kFewestStarts, kMostStarts);
    whole_space_ = space.size() <= options.budget;
  }

  std::string_view name() const override { return "ga"; }

  std::vector<Point> ask(std::size_t count) override {
    std::vector<Point> asked;
    while (asked.size() < count && deck_.left() > 0) {
      asked.push_back(space_.point(next_index()));
      if (!whole_space_) asked_.push_back(asked.back());
    }
    return asked;
  }

  void tell(const Told& told) override {
    ++since_progress_;
    if (told.cost && *told.cost < best_ * (1 - kProgress)) since_progress_ = 0;
    if (told.cost) best_ = std::min(best_, *told.cost);
    // A duplicate is the same kernel again: it would only crowd out others.
    if (told.cost && !told.duplicate) join_population({told.point, *told.cost});
    if (since_progress_ >= kPatience && spread_left_ == 0) restart();
  }

 private:
  struct Member {
    Point point;
    double cost;
  };

  /// Takes the next point from the deck, which must not be empty.
  std::uint64_t next_index() {
    if (const auto index = start_.next(deck_)) {
      if (spread_left_ > 0) --spread_left_;
      return *index;
    }
    if (whole_space_) return deck_.draw(rng_);
    if (spread_left_ > 0 || population_.empty()) {
      if (spread_left_ > 0) --spread_left_;
      const std::uint64_t index = far_from(space_, asked_, deck_, rng_);
      deck_.take(index);
      return index;
    }
    return child();
  }

  std::uint64_t child() {
    if (rng_.chance(kLocalShare)) {
      if (const auto index = elite_neighbour()) return *index;
    }
    for (int i = 0; i < kBreedTries; ++i) {
      const auto index = space_.index_of(breed());
      if (index && deck_.take(*index)) return *index;
    }
    return deck_.draw(rng_);
  }

  std::optional<std::uint64_t> elite_neighbour() {
    const std::uint64_t elites = std::min(kElites, population_.size());
    const std::uint64_t rank = rng_.chance(kLocalAtBest) ? 0 : rng_.below(elites);
    std::vector<std::uint64_t> unseen;
    for (const Point& point : space_.neighbours(population_[rank].point)) {
      const auto index = space_.index_of(point);
      if (index && deck_.has(*index)) unseen.push_back(*index);
    }
    if (unseen.empty()) return std::nullopt;
    const std::uint64_t chosen = unseen[rng_.below(unseen.size())];
    deck_.take(chosen);
    return chosen;
  }

  Point breed() {
    const Point& mother = tournament();
    if (!rng_.chance(kCrossoverShare)) return mutate(space_, mother, rng_);
    const Point crossed = crossover(mother, tournament(), rng_);
    return rng_.chance(kMutateAfterCrossover) ? mutate(space_, crossed, rng_) : crossed;
  }

  /// The population is sorted: the smallest of three random ranks wins.
  const Point& tournament() {
    std::uint64_t winner = population_.size();
    for (std::uint64_t i = 0; i < kTournament; ++i) {
      winner = std::min(winner, rng_.below(population_.size()));
    }
    return population_[winner].point;
  }

  void join_population(Member member) {
    const auto place =
        std::upper_bound(population_.begin(), population_.end(), member,
                         [](const Member& a, const Member& b) { return a.cost < b.cost; });
    population_.insert(place, std::move(member));
    if (population_.size() > kPopulation) population_.pop_back();
  }

  void restart() {
    if (population_.size() > kSurvivors) {
      population_.erase(population_.begin() + kSurvivors, population_.end());
    }
    spread_left_ = kPopulation - kSurvivors;
    since_progress_ = 0;
  }

  const Space& space_;
  Deck deck_;
  StartPoints start_;
  Rng rng_;
  std::vector<Member> population_;  ///< ascending cost
  std::vector<Point> asked_;
  std::uint64_t spread_left_ = 0;  ///< distant points still to ask for
  bool whole_space_ = false;
  double best_ = std::numeric_limits<double>::infinity();
  int since_progress_ = 0;
};

}  // namespace

std::unique_ptr<Strategy> make_ga(const Space& space, const StrategyOptions& options) {
  return std::make_unique<Ga>(space, options);
}

}  // namespace fatune
