// strategy.cpp - a strategy's name to the strategy.
#include "search/strategy.hpp"

#include "base/text.hpp"
#include "search/exhaustive.hpp"
#include "search/ga.hpp"
#include "search/random.hpp"

namespace fatune {
namespace {

struct Entry {
  StrategyInfo info;
  std::unique_ptr<Strategy> (*make)(const Space&, const StrategyOptions&);
};

constexpr Entry kStrategies[] = {
    {{"ga", "steady-state genetic algorithm from a spread start; tries small spaces whole"},
     make_ga},
    {{"random", "valid configs in random order, none twice"}, make_random},
    {{"exhaustive", "every valid config, in the order of the parameters"}, make_exhaustive},
};

}  // namespace

std::vector<StrategyInfo> strategies() {
  std::vector<StrategyInfo> infos;
  for (const Entry& entry : kStrategies) infos.push_back(entry.info);
  return infos;
}

Result<std::unique_ptr<Strategy>> make_strategy(std::string_view name, const Space& space,
                                                const StrategyOptions& options) {
  std::vector<std::string> names;
  for (const Entry& entry : kStrategies) {
    if (entry.info.name == name) return entry.make(space, options);
    names.emplace_back(entry.info.name);
  }
  std::string message = "--strategy: there is no strategy '" + std::string(name) + "'";
  if (const auto nearest = nearest_name(name, names))
    message += "; did you mean '" + *nearest + "'?";
  return usage_error(message + " (known: " + join(names, ", ") + ")");
}

}  // namespace fatune
