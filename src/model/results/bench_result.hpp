// bench_result.hpp - what was measured side by side, problem by problem: rows of `fatune bench`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/problem/suite.hpp"
#include "model/results/environment.hpp"
#include "model/results/record.hpp"

namespace fatune {

/// What a best.json says of the config, beside what was measured of it now.
struct Confirmation {
  std::string file;
  Timing then, now;  ///< median and interval
  /// "confirmed": the intervals meet; "close": they do not, within what runs differ by; "faster",
  /// "slower".
  std::string verdict;
  std::vector<std::string> differences;  ///< "driver was 580.1 and is 590.2": what may explain it
};

struct BenchProblem {
  NamedProblem problem;
  std::vector<FinalRecord> rows;  ///< the candidate first, if there is one; failed rows stay in
  std::string reason;             ///< why nothing could be measured; then there are no rows
  std::optional<Confirmation> confirmation{};  ///< of a config whose time was saved
};

struct BenchResult {
  Environment environment;
  std::string command;  ///< as a shell would repeat it
  std::string date;     ///< of the writing, "2026-01-31"
  std::string suite;    ///< empty: the problems were given as shapes
  int rounds = 0;
  std::uint64_t seed = 42;
  bool skip_correctness = false;
  std::vector<BenchProblem> problems;
};

}  // namespace fatune
