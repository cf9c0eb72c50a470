// fleet_timeline.hpp: Records which device of a run worked on which problem, when, and on how many
// hosts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/fields_fwd.hpp"

namespace fatune {

/// A stretch of work on a problem on one device, finished or not.
struct WorkStretch {
  std::string problem;            ///< the problem's label
  bool failed = false;            ///< lost or interrupted; the problem was moved or given up
  double begin_s = 0, end_s = 0;  ///< seconds since the run began
};
void fields(WorkStretch& x, FieldList& f);

struct FleetWorker {
  std::string name;  ///< "cuda:0", "rank 2 on b, cuda:0"
  std::vector<WorkStretch> work;

  double busy_s() const;
};
void fields(FleetWorker& x, FieldList& f);

/// Timeline of the last sweeping call, if a run took several calls.
struct FleetTimeline {
  double seconds = 0;
  std::vector<FleetWorker> workers;
};
void fields(FleetTimeline& x, FieldList& f);

/// Processes of one sweep on several hosts.
struct RankCensus {
  std::uint64_t gpu = 0;    ///< ranks that measured
  std::uint64_t hosts = 0;  ///< hosts of these ranks
};
void fields(RankCensus& x, FieldList& f);
/// Returns "4 ranks with a GPU, 2 hosts".
std::string describe(const RankCensus& census);

}  // namespace fatune
