// rounds.cpp - keeps what was observed, and feeds a method's rounds to ask and tell.
#include "search/strategies/rounds.hpp"

#include <algorithm>
#include <string>

#include "search/strategies/deck.hpp"
#include "search/strategies/points.hpp"

namespace fatune {
namespace {

constexpr std::size_t kTriesPerPoint = 20;  // until a sample has no repeats; chosen

// Costs heard from memory, without a new point to ask for, before a method is made to start anew.
// Chosen: above what generations of 26 name in 90 rounds.
constexpr int kMostRepeats = 2500;
constexpr int kLookAheads = 50;  // further moves looked at while a round waits; chosen

class Rounds final : public Strategy {
 public:
  Rounds(std::string_view name, const Lattice& space, const StrategyOptions& options,
         MakeMethod make)
      : name_(name),
        memory_(space),
        start_(space, options.start),
        rng_(~options.seed),
        method_(make({memory_, indices_of(space, options.start), options.seed, options.budget})) {}

  std::string_view name() const override { return name_; }

  std::vector<Point> ask(std::size_t count) override {
    std::vector<Point> asked;
    while (asked.size() < count && memory_.deck().left() > 0) {
      asked.push_back(memory_.space().point(next_index()));
    }
    return asked;
  }

  void tell(const Told& told) override {
    if (const auto index = memory_.space().index_of(told.point)) memory_.tell(*index, told.cost);
  }

 private:
  static std::vector<std::uint64_t> indices_of(const Lattice& space,
                                               const std::vector<Point>& points) {
    std::vector<std::uint64_t> indices;
    for (const Point& point : points) {
      const auto index = space.index_of(point);
      const bool repeated =
          index && std::find(indices.begin(), indices.end(), *index) != indices.end();
      if (index && !repeated) indices.push_back(*index);
    }
    return indices;
  }

  /// Takes the next point from the deck, which must not be empty.
  std::uint64_t next_index() {
    Deck& deck = memory_.deck();
    if (const auto index = start_.next(deck)) return *index;
    hear_what_is_told();
    for (std::size_t i = heard_; i < round_.size(); ++i) {
      if (deck.take(round_[i])) return round_[i];
    }
    for (int i = 0; i < kLookAheads; ++i) {
      const auto index = method_->look_ahead();
      if (!index) break;
      round_.push_back(*index);
      if (deck.take(*index)) return *index;
    }
    return beside_the_best();
  }

  /// Up to the first point of a round whose cost is not known.
  void hear_what_is_told() {
    for (int repeats = 0;; ++repeats) {
      if (repeats == kMostRepeats) {
        repeats = 0;
        method_->restart();
        begin_round();
      }
      if (heard_ == round_.size()) begin_round();
      const auto cost = memory_.cost(round_[heard_]);
      if (!cost) return;
      const std::uint64_t index = round_[heard_++];
      if (method_->hear(index, *cost) == Method::Round::kIsOver) begin_round();
    }
  }

  void begin_round() {
    round_ = method_->begin_round();
    heard_ = 0;
    FATUNE_CHECK(!round_.empty(), "a method wants to hear of at least one point");
  }

  std::uint64_t beside_the_best() {
    Deck& deck = memory_.deck();
    if (const auto best = memory_.best()) {
      const Point point = memory_.space().point(*best);
      if (const auto index = take_untried_neighbour(memory_.space(), deck, point, rng_))
        return *index;
    }
    return deck.draw(rng_);
  }

  std::string name_;
  Memory memory_;
  StartPoints start_;
  Rng rng_;
  std::unique_ptr<Method> method_;
  std::vector<std::uint64_t> round_;
  std::size_t heard_ = 0;  ///< of the round's points
};

}  // namespace

void Memory::tell(std::uint64_t index, std::optional<double> cost) {
  const double heard = cost.value_or(kFailedCost);
  costs_[index] = heard;
  if (heard >= best_cost_) return;
  best_cost_ = heard;
  best_ = index;
}

std::optional<double> Memory::cost(std::uint64_t index) const {
  const auto found = costs_.find(index);
  if (found == costs_.end()) return std::nullopt;
  return found->second;
}

std::uint64_t Memory::fresh(Rng& rng) const {
  return deck_.left() > 0 ? deck_.peek(rng) : rng.below(space_.size());
}

std::vector<std::uint64_t> Memory::sample(std::size_t count, Rng& rng,
                                          std::vector<std::uint64_t> first) const {
  std::vector<std::uint64_t> drawn = {fresh(rng)};
  for (std::size_t i = 0; i < kTriesPerPoint * count && drawn.size() < count; ++i) {
    const std::uint64_t index = fresh(rng);
    if (std::find(drawn.begin(), drawn.end(), index) == drawn.end()) drawn.push_back(index);
  }
  std::copy_n(first.begin(), std::min(first.size(), drawn.size()), drawn.begin());
  return drawn;
}

std::unique_ptr<Strategy> make_rounds(std::string_view name, const Lattice& space,
                                      const StrategyOptions& options, MakeMethod make) {
  return std::make_unique<Rounds>(name, space, options, make);
}

}  // namespace fatune
