// forecast.hpp - compiled code and a launch plan to resources, occupancy and static rejects.
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

/// Adds spills and warnings of every stage. Without the driver's figures the log's stand alone.
std::optional<Resources> with_compiler_log(std::optional<Resources> resources,
                                           const Compiled& compiled, const LaunchPlan& plan);

/// Of one launch. Registers are known once it is compiled; without them the other limits decide.
struct StageForecast {
  std::string entry;
  std::int64_t blocks = 0;
  std::int64_t threads = 0;  ///< of a block
  std::int64_t shared_bytes = 0;
  std::optional<int> registers;      ///< of a thread
  std::int64_t resident_blocks = 0;  ///< that a multiprocessor holds
  std::string_view bound;            ///< what limits them: "shared memory", "registers", ...
  double occupancy = 0;              ///< resident threads over those that a multiprocessor can hold
  double waves = 0;                  ///< blocks over those that the device holds
};

struct Forecast {
  std::vector<StageForecast> stages;  ///< without those of a library
  double flops_per_byte = 0;          ///< of the problem: operations over least bytes
};

Forecast forecast(const Problem& problem, const LaunchPlan& plan, const DeviceLimits& limits,
                  const Compiled* compiled = nullptr);
void fields(StageForecast& x, FieldList& f);
void fields(Forecast& x, FieldList& f);

/// Why a compiled candidate is not worth a launch: spills or a stack frame over the limit, wgmma
/// that the compiler made serial. Empty when it is.
std::string hopeless_reason(const Compiled& compiled);

}  // namespace fatune
