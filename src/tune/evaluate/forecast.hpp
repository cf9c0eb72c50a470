// forecast.hpp: Predicts resources and occupancy of compiled code, and rejects hopeless code.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/fields_fwd.hpp"
#include "model/kernel/candidate.hpp"
#include "model/results/measurement.hpp"
#include "worker/protocol/compilation.hpp"

namespace fatune {

/// Adds spills and warnings of all stages. Uses the log's figures if the driver's are missing.
std::optional<Resources> with_compiler_log(std::optional<Resources> resources,
                                           const Compiled& compiled, const LaunchPlan& plan);

/// Prediction for one launch. Registers are known after compilation; until then other limits
/// decide.
struct StageForecast {
  std::string entry;
  std::int64_t blocks = 0;
  std::int64_t threads = 0;  ///< per block
  std::int64_t shared_bytes = 0;
  std::optional<int> registers;      ///< per thread
  std::int64_t resident_blocks = 0;  ///< per multiprocessor
  std::string_view bound;            ///< the limiting resource: "shared memory", "registers", ...
  double occupancy = 0;              ///< resident threads per multiprocessor over its maximum
  double waves = 0;                  ///< blocks of the grid over resident blocks of the device
};

struct Forecast {
  std::vector<StageForecast> stages;  ///< without stages of libraries
  double flops_per_byte = 0;          ///< of the problem: operations over minimal bytes
};

Forecast forecast(const Problem& problem, const LaunchPlan& plan, const DeviceLimits& limits,
                  const Compiled* compiled = nullptr);
void fields(StageForecast& x, FieldList& f);
void fields(Forecast& x, FieldList& f);

/// Explains why a compiled candidate is not launched: excessive spills or stack frame, or
/// serialised wgmma. Empty if the candidate is launched.
std::string hopeless_reason(const Compiled& compiled);

}  // namespace fatune
