// search_bench.cpp - times strategies on a million configs, parameter importance on 5,000 results.
#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "search/strategies/importance.hpp"
#include "search/strategies/rng.hpp"
#include "search/strategies/strategy.hpp"
#include "unit/search/strategies/sample_lattice.hpp"

namespace fatune {
namespace {

constexpr int kRepeats = 3;
constexpr std::size_t kBudget = 220;

/// The least seconds of kRepeats calls.
template <typename Function>
double least_seconds(const Function& function) {
  double best = 1e9;
  for (int i = 0; i < kRepeats; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    function();
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    best = std::min(best, taken.count());
  }
  return best;
}

void search(const Lattice& space, const std::string& name) {
  auto strategy = make_strategy(name, space, {.budget = kBudget});
  if (!strategy) return fmt::print("{}\n", strategy.error().message);
  for (std::size_t told = 0; told < kBudget; ++told) {
    for (const Point& point : (*strategy)->ask(1)) {
      (*strategy)->tell({point, test::valley(space, point), false});
    }
  }
}

void time_strategies() {
  const Lattice space = test::lattice_of({10, 10, 10, 10, 5, 5, 4}, [](const Point& p) {
    return (p[0] + p[1] + p[2]) % 5 != 3 || p[3] > 7;
  });
  for (const std::string name : {"evo", "ga", "kt-ga", "ils", "annealing", "de", "pso"}) {
    const double seconds = least_seconds([&] { search(space, name); });
    fmt::print("{:9} {:.3f} ms an evaluation of {} in a space of {} configs\n", name,
               seconds * 1e3 / kBudget, kBudget, space.size());
  }
}

void time_importance() {
  const std::vector<Axis> axes = test::axes_of(std::vector<std::size_t>(18, 5));
  Rng rng(9);
  std::vector<Point> points(5000, Point(axes.size()));
  std::vector<std::optional<double>> costs;
  for (Point& point : points) {
    double cost = rng.unit();
    for (std::size_t axis = 0; axis < point.size(); ++axis) {
      point[axis] = static_cast<std::uint16_t>(rng.below(5));
      cost += point[axis] * static_cast<double>(axis) * 0.1;
    }
    costs.emplace_back(cost);
  }
  const double seconds = least_seconds([&] { parameter_importance(axes, points, costs); });
  fmt::print("importance {:.3f} s for {} results of {} parameters\n", seconds, points.size(),
             axes.size());
}

}  // namespace
}  // namespace fatune

int main() {
  fatune::time_strategies();
  fatune::time_importance();
  return 0;
}
