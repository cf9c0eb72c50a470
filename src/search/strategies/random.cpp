// random.cpp - draws points without replacement.
#include "search/strategies/random.hpp"

#include "search/strategies/deck.hpp"
#include "search/strategies/rng.hpp"
#include "search/strategies/start.hpp"

namespace fatune {
namespace {

class Random final : public Strategy {
 public:
  Random(const Lattice& space, const StrategyOptions& options)
      : space_(space), deck_(space.size()), start_(space, options.start), rng_(options.seed) {}

  std::string_view name() const override { return "random"; }

  std::vector<Point> ask(std::size_t count) override {
    std::vector<Point> asked;
    while (asked.size() < count && deck_.left() > 0) {
      const auto index = start_.next(deck_);
      asked.push_back(space_.point(index ? *index : deck_.draw(rng_)));
    }
    return asked;
  }

  void tell(const Told&) override {}

 private:
  const Lattice& space_;
  Deck deck_;
  StartPoints start_;
  Rng rng_;
};

}  // namespace

std::unique_ptr<Strategy> make_random(const Lattice& space, const StrategyOptions& options) {
  return std::make_unique<Random>(space, options);
}

}  // namespace fatune
