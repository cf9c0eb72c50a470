// best.hpp - a sweep's result to best.json (fatune.best/1), and its configs back.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/json.hpp"
#include "core/result.hpp"
#include "model/results/sweep_result.hpp"

namespace fatune {

/// A single problem's object, or `problems[...]` of these with `geomean_ratio`. Problems without a
/// final phase (an interrupted sweep) are left out: only final-phase numbers are published.
Json best_json(const SweepResult& result);
/// Writes best.json into the run's folder, unless no problem has had its final phase.
Status save_best(const SweepResult& result);

/// A config that somebody wants to measure, verify or export.
struct ChosenConfig {
  std::string name;  ///< of the problem, empty if unknown
  std::string kernel;
  Json config;  ///< {"BLOCK_M":128,...}
  std::optional<Problem> problem;
};
/// Reads best.json, of one problem or several, or a bare {"kernel":...,"config":{...}} with an
/// optional "problem".
Result<std::vector<ChosenConfig>> load_best(const std::filesystem::path& path);

}  // namespace fatune
