// fleet_timeline.cpp: Sums the work of a device, and lists the fields of a timeline.
#include "model/results/fleet_timeline.hpp"

#include "core/fields.hpp"
#include "core/text.hpp"

namespace fatune {

void fields(WorkStretch& x, FieldList& f) {
  f.record("work", "A problem on a device");
  f("problem", x.problem).required();
  f("failed", x.failed).omitted();
  f("begin_s", x.begin_s).required().finite();
  f("end_s", x.end_s).required().finite();
}

double FleetWorker::busy_s() const {
  double sum = 0;
  for (const WorkStretch& each : work) sum += each.end_s - each.begin_s;
  return sum;
}

void fields(FleetWorker& x, FieldList& f) {
  f("name", x.name).required();
  f.derived("busy_s", x.busy_s()).finite();
  f("work", x.work).required();
}

void fields(FleetTimeline& x, FieldList& f) {
  f.record("fleet", "Devices of one run, and what each did when");
  f("seconds", x.seconds).required().finite();
  f("workers", x.workers).required();
}

void fields(RankCensus& x, FieldList& f) {
  f.record("ranks", "Processes of one sweep on several hosts");
  f("gpu", x.gpu).required().about("Ranks that measured");
  f("hosts", x.hosts).required();
}

std::string describe(const RankCensus& census) {
  return counted(census.gpu, "rank") + " with a GPU, " + counted(census.hosts, "host");
}

}  // namespace fatune
