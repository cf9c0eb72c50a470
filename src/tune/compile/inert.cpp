// inert.cpp - compiles one-parameter neighbours and compares what came out.
#include "tune/compile/inert.hpp"

#include <map>

#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "core/json.hpp"

namespace fatune {
namespace {

constexpr std::size_t kExamplesKept = 3;

struct Neighbour {
  std::size_t axis;
  Point base, point;
};

/// The default first, then points spread evenly over the enumeration: no randomness needed.
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

std::vector<Neighbour> neighbours_of(const Space& space, const Point& base) {
  std::vector<Neighbour> found;
  for (const Point& point : space.neighbours(base)) {
    for (std::size_t axis = 0; axis < point.size(); ++axis) {
      if (point[axis] != base[axis]) found.push_back({axis, base, point});
    }
  }
  return found;
}

/// Compiles each point once; what identifies the program, or nothing when it does not compile.
class Programs {
 public:
  Programs(const Space& space, const DeviceLimits& limits, CompilePool& pool)
      : space_(space), limits_(limits), pool_(pool) {}

  void submit(const Point& point) {
    if (tickets_.contains(point)) return;
    tickets_[point] = pool_.submit(compile_request(space_.candidate(point), limits_));
  }

  Status wait() {
    for (const auto& [point, ticket] : tickets_) {
      FATUNE_TRY(const Compiled compiled, wait_for(pool_, ticket));
      if (!compiled.ok) continue;
      FATUNE_TRY(const LaunchPlan plan, launch_plan(space_.candidate(point), limits_));
      identity_[point] = compiled.cubin_hash + dump(to_json(plan));
    }
    return {};
  }

  const std::string* find(const Point& point) const {
    const auto found = identity_.find(point);
    return found == identity_.end() ? nullptr : &found->second;
  }

 private:
  const Space& space_;
  const DeviceLimits& limits_;
  CompilePool& pool_;
  std::map<Point, Ticket> tickets_;
  std::map<Point, std::string> identity_;
};

void count(const Space& space, const Neighbour& pair, const Programs& programs,
           ParameterEffect& effect) {
  const std::string* base = programs.find(pair.base);
  const std::string* other = programs.find(pair.point);
  if (base == nullptr || other == nullptr) return;
  ++effect.neighbours;
  if (*base != *other) {
    ++effect.changed;
  } else if (effect.same.size() < kExamplesKept) {
    const auto& values = space.axes()[pair.axis].values;
    effect.same.push_back(describe(values[pair.base[pair.axis]]) + " = " +
                          describe(values[pair.point[pair.axis]]) + " at " +
                          describe(space.config(pair.base)));
  }
}

}  // namespace

Result<std::vector<ParameterEffect>> parameter_effects(const Space& space,
                                                       const DeviceLimits& limits,
                                                       CompilePool& pool, int bases) {
  std::vector<Neighbour> pairs;
  Programs programs(space, limits, pool);
  for (const Point& base : base_points(space, bases)) {
    programs.submit(base);
    for (Neighbour& pair : neighbours_of(space, base)) {
      programs.submit(pair.point);
      pairs.push_back(std::move(pair));
    }
  }
  FATUNE_TRY_STATUS(programs.wait());
  std::vector<ParameterEffect> effects;
  for (const Parameter& axis : space.axes()) effects.push_back({axis.name, 0, 0, {}});
  for (const Neighbour& pair : pairs) count(space, pair, programs, effects[pair.axis]);
  return effects;
}

}  // namespace fatune
