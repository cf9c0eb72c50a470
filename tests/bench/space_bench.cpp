// space_bench.cpp - times the enumeration of spaces of ten and a hundred million raw points.
#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <sys/resource.h>

#include "model/space/space.hpp"

namespace fatune {
namespace {

constexpr int kRepeats = 5;

/// Axes of ten values each, their names P0, P1, ...
struct Sample {
  const char* what;
  int axes;
  std::vector<const char*> rules;
};

const std::vector<Sample> kSamples = {
    {"few rules, most points valid",
     7,
     {"P0 * P1 <= 64", "(P1 + P2) % 2 == 0 || P3 > 2", "P3 * P4 * P5 <= 600", "P5 + P6 <= 18",
      "P6 >= 2 || P0 == 1"}},
    {"a chain: each rule ties an axis to the next",
     8,
     {"P1 % P0 == 0", "P1 + P2 <= 12", "P2 * P3 <= 40", "P4 % P3 == 0 || P3 > P4", "P4 + P5 != 10",
      "P5 * P6 <= 50", "(P6 + P7) % 3 != 1"}},
    {"a chain of long rules, whose first axes decide little",
     8,
     {"P0 + P1 + P2 <= 20", "P1 * P2 * P3 <= 100", "(P2 + P3 + P4 + P5) % 4 != 2",
      "P3 * P4 + P5 * P6 <= 120", "P4 + P5 + P6 + P7 <= 18", "P0 * P2 * P4 * P6 <= 600",
      "P1 * P3 + P5 * P7 <= 60"}},
    {"a rule over all axes, which nothing cuts short",
     8,
     {"P0 + P1 <= 11", "P2 + P3 <= 11", "P4 + P5 <= 11",
      "P0 * P1 + P2 * P3 + P4 * P5 + P6 * P7 <= 60"}},
};

std::string manifest_text(const Sample& sample) {
  std::string parameters;
  for (int i = 0; i < sample.axes; ++i) {
    parameters += fmt::format(R"({}{{"name": "P{}", "values": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
                                 "default": 1, "meaning": "m"}})",
                              i == 0 ? "" : ", ", i);
  }
  std::string constraints;
  for (const char* rule : sample.rules) {
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

Status run(const Sample& sample) {
  FATUNE_TRY(const std::vector<KernelRef> kernels,
             load_kernels({{"bench.cu", ""}, {"bench.json", manifest_text(sample)}}));
  FATUNE_TRY(const Problem problem, parse_shape("4,8,512,64"));
  FATUNE_TRY(const DeviceLimits limits, typical_limits(Arch{80, 0}));
  double best = 1e9;
  std::uint64_t raw = 0, valid = 0;
  for (int i = 0; i < kRepeats; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    FATUNE_TRY(const Space space, Space::build(kernels.front(), problem, limits));
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    best = std::min(best, taken.count());
    raw = space.raw_size();
    valid = space.size();
  }
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  fmt::print("{:9} raw points, {} rules, {:7} valid: {:.3f} s, at most {} MiB so far ({})\n", raw,
             sample.rules.size(), valid, best, used.ru_maxrss / 1024, sample.what);
  return {};
}

}  // namespace
}  // namespace fatune

int main() {
  for (const fatune::Sample& sample : fatune::kSamples) {
    if (const fatune::Status status = fatune::run(sample); !status) {
      fmt::print(stderr, "{}\n", status.error().message);
      return 1;
    }
  }
  return 0;
}
