// strategy.cpp - a strategy's name to the strategy; the two that learn nothing.
#include "search/strategies/strategy.hpp"

#include <fmt/format.h>

#include "core/text.hpp"
#include "search/strategies/deck.hpp"

namespace fatune {
namespace {

enum class Order { kRandom, kOfSpace };

/// Every valid point once, the start points first: clearly slower candidates are cut short against
/// the best so far. The order of the space is plain on purpose: a journal of a whole space then
/// reads like a nested loop.
class Plain final : public DeckStrategy {
 public:
  Plain(const Lattice& space, const StrategyOptions& options, Order order)
      : DeckStrategy(order == Order::kRandom ? "random" : "exhaustive", space, options),
        start_(space, options.start),
        order_(order) {}

  void tell(const Told&) override {}

 private:
  std::uint64_t next_index() override {
    if (const auto start = start_.next(deck_)) return *start;
    if (order_ == Order::kRandom) return deck_.draw(rng_);
    while (!deck_.take(next_)) ++next_;
    return next_;
  }

  StartPoints start_;
  Order order_;
  std::uint64_t next_ = 0;
};

template <Order order>
std::unique_ptr<Strategy> make_plain(const Lattice& space, const StrategyOptions& options) {
  return std::make_unique<Plain>(space, options, order);
}

struct Entry {
  StrategyInfo info;
  std::unique_ptr<Strategy> (*make)(const Lattice&, const StrategyOptions&);
};

constexpr Entry kStrategies[] = {
    {{"evo", "a model of what was measured picks among relatives of the best and strangers", true},
     make_evo},
    {{"ga", "steady-state genetic algorithm from a spread start; tries small spaces whole", true},
     make_ga},
    {{"kt-ga", "generational genetic algorithm with Kernel Tuner's settings"}, make_kt_ga},
    {{"ils", "greedy iterated local search: climb, jump a little, climb again"}, make_ils},
    {{"annealing", "simulated annealing: worse moves are taken while it is hot"}, make_annealing},
    {{"de", "differential evolution over the parameters' positions"}, make_de},
    {{"pso", "particle swarm over the parameters' positions"}, make_pso},
    {{"random", "valid configs in random order, none twice"}, make_plain<Order::kRandom>},
    {{"exhaustive", "every valid config, in the order of the parameters"},
     make_plain<Order::kOfSpace>},
};

}  // namespace

std::vector<StrategyInfo> strategies() {
  std::vector<StrategyInfo> infos;
  for (const Entry& entry : kStrategies) infos.push_back(entry.info);
  return infos;
}

Result<std::unique_ptr<Strategy>> make_strategy(std::string_view name, const Lattice& space,
                                                const StrategyOptions& options) {
  std::vector<std::string> names;
  for (const Entry& entry : kStrategies) {
    if (entry.info.name == name) return entry.make(space, options);
    names.emplace_back(entry.info.name);
  }
  const auto nearest = nearest_name(name, names);
  return usage_error(fmt::format("--strategy: there is no strategy '{}'{} (known: {})", name,
                                 nearest ? fmt::format("; did you mean '{}'?", *nearest) : "",
                                 join(names, ", ")));
}

}  // namespace fatune
