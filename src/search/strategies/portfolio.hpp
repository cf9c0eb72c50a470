// portfolio.hpp - each config's cost on each problem to the few configs that serve all of them.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "model/results/sweep_result.hpp"

namespace fatune {

struct Portfolio {
  struct Choice {
    std::size_t config = 0;  ///< position in the list
    double geomean = 1;      ///< with this one: of the ratios below, over the problems served
    std::size_t served = 0;  ///< problems that one of those chosen so far can do
  };
  struct Served {
    std::size_t config = 0;  ///< the chosen one to use there
    double ratio = 1;        ///< its cost over that of the best config of the list
  };
  std::vector<Choice> chosen;                 ///< in the order of choice
  std::vector<std::optional<Served>> served;  ///< for each problem; empty: no chosen config can
};

/// At most `count` configs, chosen one after another (greedy): each time the one with which most
/// problems are served, then with which the geomean over them, of the cost of the best chosen
/// config over that of the best of all, is least; of equals the one whose name comes first. Ends
/// early when no further config would make anything better.
Portfolio choose_portfolio(std::span<const SuiteEntry> configs, std::size_t count);

}  // namespace fatune
