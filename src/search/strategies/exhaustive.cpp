// exhaustive.cpp - walks a space from its first valid point to its last.
#include "search/strategies/exhaustive.hpp"

#include "search/strategies/deck.hpp"
#include "search/strategies/start.hpp"

namespace fatune {
namespace {

class Exhaustive final : public Strategy {
 public:
  Exhaustive(const Lattice& space, const StrategyOptions& options)
      : space_(space), deck_(space.size()), start_(space, options.start) {}

  std::string_view name() const override { return "exhaustive"; }

  std::vector<Point> ask(std::size_t count) override {
    std::vector<Point> asked;
    while (asked.size() < count && deck_.left() > 0) {
      if (const auto index = start_.next(deck_)) {
        asked.push_back(space_.point(*index));
        continue;
      }
      while (!deck_.take(next_)) ++next_;
      asked.push_back(space_.point(next_));
    }
    return asked;
  }

  void tell(const Told&) override {}

 private:
  const Lattice& space_;
  Deck deck_;
  StartPoints start_;
  std::uint64_t next_ = 0;
};

}  // namespace

std::unique_ptr<Strategy> make_exhaustive(const Lattice& space, const StrategyOptions& options) {
  return std::make_unique<Exhaustive>(space, options);
}

}  // namespace fatune
