// ga.cpp - breeds points from the best told so far.
#include <algorithm>

#include "search/strategies/deck.hpp"
#include "search/strategies/points.hpp"
#include "search/strategies/population.hpp"
#include "search/strategies/rng.hpp"
#include "search/strategies/strategies.hpp"

namespace fatune {
namespace {

// Chosen on replays of 19 published spaces; starts of 8 to 24 do alike.
constexpr std::uint64_t kFewestStarts = 8, kMostStarts = 16, kBudgetPerStart = 8;
constexpr int kStartTries = 30;        // chosen
constexpr std::size_t kSurvivors = 4;  // of a restart

class Ga final : public Strategy {
 public:
  Ga(const Lattice& space, const StrategyOptions& options)
      : space_(space),
        deck_(space.size()),
        rng_(options.seed),
        population_(space, options),
        spread_(space, options,
                {std::clamp(options.budget / kBudgetPerStart, kFewestStarts, kMostStarts),
                 kStartTries}),
        whole_space_(space.size() <= options.budget && !options.one_lever) {}

  std::string_view name() const override { return "ga"; }

  std::vector<Point> ask(std::size_t count) override {
    std::vector<Point> asked;
    while (asked.size() < count && deck_.left() > 0) {
      asked.push_back(space_.point(next_index()));
      if (!whole_space_) spread_.keep_from(asked.back());
    }
    return asked;
  }

  void tell(const Told& told) override {
    // A duplicate is the same kernel again: it would only crowd out others.
    if (told.cost && !told.duplicate) population_.join(told.point, *told.cost);
    stagnation_.tell(told.cost);
    if (stagnation_.reached() && !spread_.wanted()) restart();
  }

 private:
  /// Takes the next point from the deck, which must not be empty.
  std::uint64_t next_index() {
    if (const auto index = spread_.start(deck_)) return *index;
    if (whole_space_) return deck_.draw(rng_);
    if (spread_.wanted() || population_.size() == 0) return spread_.next(deck_, rng_);
    if (const auto index = population_.child(deck_, rng_)) return *index;
    return spread_.next(deck_, rng_);
  }

  void restart() {
    population_.shrink(kSurvivors);
    spread_.want(Population::kSize - kSurvivors);
    stagnation_.restart();
  }

  const Lattice& space_;
  Deck deck_;
  Rng rng_;
  Population population_;
  Spread spread_;
  Stagnation stagnation_;
  bool whole_space_;
};

}  // namespace

std::unique_ptr<Strategy> make_ga(const Lattice& space, const StrategyOptions& options) {
  return std::make_unique<Ga>(space, options);
}

}  // namespace fatune
