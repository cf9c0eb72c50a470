// ga.cpp - breeds points from the best told so far.
#include <algorithm>
#include <cmath>
#include <limits>

#include "search/strategies/points.hpp"

namespace fatune {
namespace {

// Chosen on replays of 19 published spaces; starts of 8 to 24 do alike.
constexpr std::uint64_t kFewestStarts = 8, kMostStarts = 16, kBudgetPerStart = 8;
constexpr int kStartTries = 30;        // chosen
constexpr std::size_t kSurvivors = 4;  // of a restart
constexpr int kPatience = 40;          // evaluations without progress; chosen
constexpr double kProgress = 0.005;    // a gain below this share is none; chosen

class Ga final : public DeckStrategy {
 public:
  Ga(const Lattice& space, const StrategyOptions& options)
      : DeckStrategy("ga", space, options),
        population_(space, options),
        spread_(space, options,
                {std::clamp(options.budget / kBudgetPerStart, kFewestStarts, kMostStarts),
                 kStartTries}),
        whole_space_(space.size() <= options.budget && !options.one_lever) {}

  void tell(const Told& told) override {
    // A duplicate is the same kernel again: it would only crowd out others.
    if (told.cost && !told.duplicate) population_.join(told.point, *told.cost);
    ++since_progress_;
    if (told.cost) {
      const double least_gain = kProgress * std::abs(best_);
      if (!std::isfinite(best_) || *told.cost < best_ - least_gain) since_progress_ = 0;
      best_ = std::fmin(best_, *told.cost);
    }
    if (since_progress_ >= kPatience && !spread_.wanted()) restart();
  }

 private:
  void note_asked(const Point& point) override {
    if (!whole_space_) spread_.keep_from(point);
  }

  std::uint64_t next_index() override {
    if (const auto index = spread_.start(deck_)) return *index;
    if (whole_space_) return deck_.draw(rng_);
    if (spread_.wanted() || population_.size() == 0) return spread_.next(deck_, rng_);
    if (const auto index = population_.child(deck_, rng_)) return *index;
    return spread_.next(deck_, rng_);
  }

  void restart() {
    population_.shrink(kSurvivors);
    spread_.want(Population::kSize - kSurvivors);
    since_progress_ = 0;
  }

  Population population_;
  Spread spread_;
  double best_ = std::numeric_limits<double>::infinity();
  int since_progress_ = 0;
  bool whole_space_;
};

}  // namespace

std::unique_ptr<Strategy> make_ga(const Lattice& space, const StrategyOptions& options) {
  return std::make_unique<Ga>(space, options);
}

}  // namespace fatune
