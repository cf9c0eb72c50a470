// ga.cpp: Implements ga: a steady-state genetic algorithm.
#include <algorithm>
#include <cmath>
#include <limits>

#include "search/strategies/points.hpp"

namespace fatune {
namespace {

// Chosen on replays of 19 published spaces; 8 to 24 start points were equally good.
constexpr std::uint64_t kFewestStarts = 8, kMostStarts = 16, kBudgetPerStart = 8;
constexpr int kStartTries = 30;        // chosen
constexpr std::size_t kSurvivors = 4;  // members kept at a restart; chosen
constexpr int kPatience = 40;          // evaluations without progress; chosen
constexpr double kProgress = 0.005;    // relative gain that counts as progress; chosen

class Ga final : public UntriedSetStrategy {
 public:
  Ga(const Lattice& space, const StrategyOptions& options)
      : UntriedSetStrategy("ga", space, options),
        population_(space, options),
        spread_(space, options,
                {std::clamp(options.budget / kBudgetPerStart, kFewestStarts, kMostStarts),
                 kStartTries}),
        whole_space_(space.size() <= options.budget && !options.one_lever) {}

  void tell(const EvaluatedPoint& told) override {
    // A duplicate has the machine code of a member and would only displace another kernel.
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
    if (const auto index = spread_.start(untried_)) return *index;
    if (whole_space_) return untried_.draw(rng_);
    if (spread_.wanted() || population_.size() == 0) return spread_.next(untried_, rng_);
    if (const auto index = population_.child(untried_, rng_)) return *index;
    return spread_.next(untried_, rng_);
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
