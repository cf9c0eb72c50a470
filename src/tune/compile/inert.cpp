// inert.cpp: Compiles one-parameter neighbours and compares the resulting programs.
#include "tune/compile/inert.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "core/json.hpp"
#include "worker/protocol/machine_code.hpp"

namespace fatune {
namespace {

constexpr std::size_t kExamplesKept = 3;

struct Neighbour {
  std::size_t axis;
  Point base, point;
};

/// Returns the default point and points spread evenly over the enumeration, without randomness.
std::vector<Point> base_points(const Space& space, int bases) {
  std::vector<Point> points;
  if (auto point = space.default_point()) points.push_back(*point);
  for (int i = 0; static_cast<int>(points.size()) < bases && i < bases; ++i) {
    const auto step = space.size() / static_cast<std::uint64_t>(bases);
    points.push_back(
        space.point(std::min(space.size() - 1, step * static_cast<std::uint64_t>(i) + step / 2)));
  }
  return points;
}

/// Identifies the program of each point that compiles.
using Programs = std::map<Point, std::string>;

void count(const Space& space, const Neighbour& pair, const Programs& programs,
           ParameterEffect& effect) {
  const auto base = programs.find(pair.base), other = programs.find(pair.point);
  if (base == programs.end() || other == programs.end()) return;
  ++effect.neighbours;
  if (base->second != other->second) {
    ++effect.changed;
  } else if (effect.same.size() < kExamplesKept) {
    const auto& values = space.axes()[pair.axis].values;
    effect.same.push_back(fmt::format("{} = {} at {}", describe(values[pair.base[pair.axis]]),
                                      describe(values[pair.point[pair.axis]]),
                                      describe(space.config(pair.base))));
  }
}

}  // namespace

Result<std::vector<ParameterEffect>> parameter_effects(const Space& space,
                                                       const DeviceLimits& limits,
                                                       CompilePool& pool, int bases,
                                                       CompileFaults& faults) {
  std::vector<Neighbour> pairs;
  std::map<Point, Ticket> tickets;
  const auto submit = [&](const Point& point) {
    if (tickets.contains(point)) return;
    tickets[point] = pool.submit(compile_request(space.candidate(point), limits));
  };
  for (const Point& base : base_points(space, bases)) {
    submit(base);
    for (const Point& point : space.neighbours(base)) {
      submit(point);
      for (std::size_t axis = 0; axis < point.size(); ++axis) {
        if (point[axis] != base[axis]) pairs.push_back({axis, base, point});
      }
    }
  }
  Programs programs;
  for (const auto& [point, ticket] : tickets) {
    FATUNE_TRY(Compiled done, wait_for(pool, ticket));
    FATUNE_TRY(const LaunchPlan plan, launch_plan(space.candidate(point), limits));
    const Compiled compiled = checked(std::move(done), plan);
    if (!compiled.ok) {
      CompileFault& fault = faults[compiled.problem];
      if (fault.configs++ == 0) fault.config = describe(space.config(point));
      continue;
    }
    programs[point] = compiled.cubin_hash + dump(to_json(plan));
  }
  std::vector<ParameterEffect> effects;
  for (const Parameter& axis : space.axes()) effects.push_back({axis.name, 0, 0, {}});
  for (const Neighbour& pair : pairs) count(space, pair, programs, effects[pair.axis]);
  return effects;
}

}  // namespace fatune
