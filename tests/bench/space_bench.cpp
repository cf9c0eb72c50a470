// space_bench.cpp - times the enumeration of ten million raw points with five constraints.
#include <algorithm>
#include <chrono>
#include <string>

#include <fmt/format.h>

#include "space/space.hpp"

namespace fatune {
namespace {

constexpr int kRepeats = 5;

/// Seven axes of ten values each, their names P0 to P6.
std::string manifest_text() {
  std::string parameters;
  for (int i = 0; i < 7; ++i) {
    parameters += fmt::format(R"({}{{"name": "P{}", "values": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
                                 "default": 1, "meaning": "m"}})",
                              i == 0 ? "" : ", ", i);
  }
  std::string constraints;
  for (const char* rule : {"P0 * P1 <= 64", "(P1 + P2) % 2 == 0 || P3 > 2", "P3 * P4 * P5 <= 600",
                           "P5 + P6 <= 18", "P6 >= 2 || P0 == 1"}) {
    constraints +=
        fmt::format(R"({}{{"require": "{}", "why": "w"}})", constraints.empty() ? "" : ", ", rule);
  }
  return fmt::format(R"({{"schema": "fatune.kernel/1", "name": "bench", "summary": "s",
    "source": "bench.cu", "supports": {{"dtypes": ["f16"], "masks": ["none"]}},
    "parameters": [{}], "constraints": [{}],
    "stages": [{{"entry": "e", "grid": ["1", "1", "1"], "block": ["32 * P0", "1", "1"],
                 "shared_bytes": "1024 * P1 * P3", "arguments": ["out"]}}]}})",
                     parameters, constraints);
}

Status run() {
  FATUNE_TRY(const std::vector<KernelRef> kernels,
             load_kernels({{"bench.cu", ""}, {"bench.json", manifest_text()}}));
  FATUNE_TRY(const Problem problem, parse_shape("4,8,512,64"));
  FATUNE_TRY(const DeviceLimits limits, typical_limits(Arch{80, 0}));
  double best = 1e9;
  for (int i = 0; i < kRepeats; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    FATUNE_TRY(const Space space, Space::build(kernels.front(), problem, limits));
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    best = std::min(best, taken.count());
    fmt::print("{} raw points, {} constraints, {} valid: {:.3f} s\n", space.raw_size(),
               kernels.front()->manifest.constraints.size(), space.size(), taken.count());
  }
  fmt::print("best of {}: {:.3f} s\n", kRepeats, best);
  return {};
}

}  // namespace
}  // namespace fatune

int main() {
  const fatune::Status status = fatune::run();
  if (status) return 0;
  fmt::print(stderr, "{}\n", status.error().message);
  return 1;
}
