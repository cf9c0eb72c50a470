// strategy.cpp - a strategy's name to the strategy.
#include "search/strategies/strategy.hpp"

#include <fmt/format.h>

#include "core/text.hpp"
#include "search/strategies/strategies.hpp"

namespace fatune {
namespace {

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
    {{"random", "valid configs in random order, none twice"}, make_random},
    {{"exhaustive", "every valid config, in the order of the parameters"}, make_exhaustive},
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
