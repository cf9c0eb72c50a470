// strategy.cpp: Makes a strategy by name, and implements the random and the exhaustive one.
#include "search/strategies/strategy.hpp"

#include <fmt/format.h>

#include "core/text.hpp"
#include "search/strategies/points.hpp"

namespace fatune {
namespace {

enum class Order { kRandom, kOfSpace };

/// Returns every valid point once, the start points first. The order of the space is plain on
/// purpose: a journal of a whole space then reads like a nested loop.
class UnguidedStrategy final : public UntriedSetStrategy {
 public:
  UnguidedStrategy(const Lattice& space, const StrategyOptions& options, Order order)
      : UntriedSetStrategy(order == Order::kRandom ? "random" : "exhaustive", space, options),
        start_(space, options.start),
        order_(order) {}

  void tell(const EvaluatedPoint&) override {}

 private:
  std::uint64_t next_index() override {
    if (const auto start = start_.next(untried_)) return *start;
    if (order_ == Order::kRandom) return untried_.draw(rng_);
    while (!untried_.take(next_)) ++next_;
    return next_;
  }

  StartPoints start_;
  Order order_;
  std::uint64_t next_ = 0;
};

template <Order order>
std::unique_ptr<Strategy> make_plain(const Lattice& space, const StrategyOptions& options) {
  return std::make_unique<UnguidedStrategy>(space, options, order);
}

struct Entry {
  StrategyInfo info;
  std::unique_ptr<Strategy> (*make)(const Lattice&, const StrategyOptions&);
};

constexpr Entry kStrategies[] = {
    {{"evo",
      "Bayesian optimisation: a Gaussian process picks among mutations of the best configs and "
      "random ones",
      true},
     make_evo},
    {{"ga", "steady-state genetic algorithm from spread-out configs; tries small spaces completely",
      true},
     make_ga},
    {{"kt-ga", "generational genetic algorithm with Kernel Tuner's settings"}, make_kt_ga},
    {{"ils", "iterated local search: climbs to a local optimum, perturbs it, climbs again"},
     make_ils},
    {{"annealing", "simulated annealing: accepts worse configs, ever more rarely"}, make_annealing},
    {{"de", "differential evolution over the positions of the parameters' values"}, make_de},
    {{"pso", "particle swarm optimisation over the positions of the parameters' values"}, make_pso},
    {{"random", "uniform sampling of configs without replacement"}, make_plain<Order::kRandom>},
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
