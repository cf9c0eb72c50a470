// progress.hpp - the state of a running sweep, for a progress display.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/results/measurement.hpp"

namespace fatune {

struct SweepProgress {
  std::string problem;  ///< "mission 4,8,512,64 f16"
  std::size_t problem_number = 1, problems = 1;
  std::string phase;                ///< "search", "final"
  std::uint64_t done = 0, all = 0;  ///< candidates
  std::map<Outcome, std::uint64_t> outcomes;
  std::optional<double> best_us;
  std::string best_config;  ///< kernel and config
  /// Best time so far after each candidate, from the first success on.
  std::vector<double> best_history_us;
  double elapsed_s = 0;
  std::optional<double> left_s;
  std::string activity;  ///< of the evaluator: "compiling", ...
};

}  // namespace fatune
