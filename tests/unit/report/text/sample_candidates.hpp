// sample_candidates.hpp: Makes a few candidates with every outcome.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "model/results/record.hpp"

namespace fatune::test {

inline CandidateRecord measured(int tile, double median_us, double sem_relative = 0.001) {
  CandidateRecord record;
  record.id = "id" + std::to_string(tile);
  record.kernel = "fa_mma";
  record.config = {{"TILE", tile}};
  record.hot = Timing{};
  record.hot->median_us = median_us;
  record.hot->sem_relative = sem_relative;
  return record;
}

inline CandidateRecord failed(int tile, Outcome outcome, const std::string& reason) {
  CandidateRecord record;
  record.id = "id" + std::to_string(tile);
  record.kernel = "fa_mma";
  record.config = {{"TILE", tile}};
  record.outcome = outcome;
  record.reason = reason;
  return record;
}

inline std::vector<CandidateRecord> sample_candidates() {
  CandidateRecord best = measured(64, 9.8);
  best.resources = Resources{};
  best.resources->registers = 128;
  best.resources->dynamic_shared_bytes = 32768;
  return {measured(16, 12.0),
          failed(32, Outcome::kCompileError, "too many registers, it said\nmore"), best,
          failed(128, Outcome::kWrongResult, "margin 3.1"), measured(256, 9.81)};
}

}  // namespace fatune::test
