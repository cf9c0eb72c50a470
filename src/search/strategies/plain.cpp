// plain.cpp - every valid point once, at random or in the order of the space.
#include "search/strategies/deck.hpp"
#include "search/strategies/strategies.hpp"

namespace fatune {
namespace {

class Plain final : public Strategy {
 public:
  enum class Order { kRandom, kOfSpace };

  Plain(const Lattice& space, const StrategyOptions& options, Order order)
      : space_(space),
        deck_(space.size()),
        start_(space, options.start),
        rng_(options.seed),
        order_(order) {}

  std::string_view name() const override {
    return order_ == Order::kRandom ? "random" : "exhaustive";
  }

  std::vector<Point> ask(std::size_t count) override {
    std::vector<Point> asked;
    while (asked.size() < count && deck_.left() > 0) {
      const auto start = start_.next(deck_);
      asked.push_back(space_.point(start ? *start : next_index()));
    }
    return asked;
  }

  void tell(const Told&) override {}

 private:
  std::uint64_t next_index() {
    if (order_ == Order::kRandom) return deck_.draw(rng_);
    while (!deck_.take(next_)) ++next_;
    return next_;
  }

  const Lattice& space_;
  Deck deck_;
  StartPoints start_;
  Rng rng_;
  Order order_;
  std::uint64_t next_ = 0;
};

}  // namespace

std::unique_ptr<Strategy> make_random(const Lattice& space, const StrategyOptions& options) {
  return std::make_unique<Plain>(space, options, Plain::Order::kRandom);
}

std::unique_ptr<Strategy> make_exhaustive(const Lattice& space, const StrategyOptions& options) {
  return std::make_unique<Plain>(space, options, Plain::Order::kOfSpace);
}

}  // namespace fatune
