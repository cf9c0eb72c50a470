// launch_facts.hpp - what is known of a launch without counters: resources, blocks, waves.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/fields_fwd.hpp"
#include "model/kernel/candidate.hpp"
#include "model/results/measurement.hpp"

namespace fatune {

struct LaunchFacts {
  std::string entry;  ///< the stage that the resources belong to
  std::size_t stages = 1;
  Resources resources;
  std::int64_t blocks = 0;  ///< of the grid
  std::int64_t sm_count = 0;
  std::int64_t max_threads_sm = 0;

  /// Blocks over those that the device holds at once; empty when unknown.
  std::optional<double> waves() const;
  /// Share of the multiprocessors' time that blocks fill, from 0 to 1: 1.1 waves take the time of 2
  /// and fill 55 % of it; a grid below one wave spreads out, one block a multiprocessor first.
  std::optional<double> wave_use() const;
  /// Threads that a multiprocessor holds over those it could, from 0 to 1.
  std::optional<double> occupancy() const;
};
/// Of the stage whose threads and shared memory are those of the resources, else of the first that
/// is no library's.
LaunchFacts launch_facts(const LaunchPlan& plan, const Resources& resources,
                         const DeviceLimits& limits);
void fields(LaunchFacts& x, FieldList& f);

}  // namespace fatune
