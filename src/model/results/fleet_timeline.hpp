// fleet_timeline.hpp - which device of a run had which problem, and when.
#pragma once

#include <string>
#include <vector>

#include "core/fields_fwd.hpp"

namespace fatune {

/// A problem on a device, whether it came to its end there or not.
struct WorkStretch {
  std::string problem;            ///< its label
  bool failed = false;            ///< it was lost or broke off, and went elsewhere or was given up
  double begin_s = 0, end_s = 0;  ///< since the run began
};
void fields(WorkStretch& x, FieldList& f);

struct FleetWorker {
  std::string name;  ///< "cuda:0", "rank 2 on b, cuda:0"
  std::vector<WorkStretch> work;

  double busy_s() const;
};
void fields(FleetWorker& x, FieldList& f);

/// Of the last call that swept, where a run took several.
struct FleetTimeline {
  double seconds = 0;
  std::vector<FleetWorker> workers;
};
void fields(FleetTimeline& x, FieldList& f);

}  // namespace fatune
