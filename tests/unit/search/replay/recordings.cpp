// recordings.cpp: Makes recordings from formulas.
#include "recordings.hpp"

#include <numeric>
#include <string>

#include "search/strategies/rng.hpp"

namespace fatune::test {

Recording make_recording(const std::vector<std::size_t>& sizes, const CostFunction& cost) {
  Recording recording;
  recording.where = "made-up";
  recording.format = "fatune";
  recording.name = "formula";
  recording.objective = "time";
  recording.unit = "ms";
  std::vector<Axis> axes;
  std::uint64_t all = 1;
  for (const std::size_t size : sizes) {
    const std::string name = "AXIS_" + std::to_string(axes.size());
    axes.push_back({name, size, true});
    RecordedAxis recorded{name, {}, true};
    for (std::size_t i = 0; i < size; ++i) {
      recorded.values.push_back({Value::Kind::kNumber, static_cast<std::int64_t>(i), ""});
    }
    recording.axes.push_back(recorded);
    all *= size;
  }
  std::vector<std::uint64_t> codes(all);
  std::iota(codes.begin(), codes.end(), 0U);
  recording.lattice = Lattice(axes, codes);
  for (std::uint64_t i = 0; i < all; ++i) {
    const auto value = cost(recording.lattice.point(i));
    recording.entries.push_back({value, value ? "" : "runtime", 1.0});
  }
  return recording;
}

Recording make_rugged_recording(std::size_t n, std::size_t failing) {
  std::vector<double> costs(n);
  std::iota(costs.begin(), costs.end(), 1.0);
  Rng rng(7);
  for (std::size_t i = n; i > 1; --i) std::swap(costs[i - 1], costs[rng.below(i)]);
  return make_recording({n}, [&](const Point& point) -> std::optional<double> {
    if (failing > 0 && point[0] % failing == 0) return std::nullopt;
    return costs[point[0]];
  });
}

}  // namespace fatune::test
