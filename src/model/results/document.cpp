// document.cpp: Lists the fields that documents share: head, problem, contestant.
#include "model/results/document.hpp"

#include "core/fields.hpp"
#include "model/problem/problem.hpp"
#include "model/problem/suite.hpp"

namespace fatune::document {
namespace {

/// Rate of plain launches: TFLOP/s, or GB/s of the least bytes if operations are not counted.
void rate_fields(const FinalRecord& x, FieldList& f) {
  std::optional<double> tflops, gbytes_per_s;
  if (const auto& timing = x.rated_time(); timing && timing->median_us > 0) {
    const Seconds time = to_seconds(Micros(timing->median_us));
    if (counts_flops(x.problem)) {
      tflops = (flops(x.problem) / time).value;
    } else {
      gbytes_per_s = gigabytes_per_second(x.problem, time);
    }
  }
  f.derived("tflops", tflops).finite().positive();
  f.derived("gbytes_per_s", gbytes_per_s).finite().positive();
}

}  // namespace

void head_fields(std::string& fatune, std::string& command, bool& recorded, FieldList& f) {
  f("fatune", fatune).about("Version that wrote this");
  f("command", command).about("That repeats it");
  f("recorded", recorded).about("A recording stood in for a device");
}

void head_fields(DocumentHead& x, FieldList& f) { head_fields(x.fatune, x.command, x.recorded, f); }

void problem_fields(std::string& name, Problem& problem, FieldList& f) {
  f("name", name).omitted();
  f("problem", problem);
  f.derived("label", label({name, problem})).about("For people");
}

void contestant_fields(FinalRecord& x, FieldList& f) {
  f("impl", x.impl);
  f("kernel", x.kernel).omitted();
  f("config", x.config).object().omitted().schema(kConfigSchema);
  f("id", x.id).omitted().looks_like(kIdPattern);
  f("detail", x.detail).omitted();
  f("timed_again", x.timed_again).omitted().about("In rounds after the best was chosen");
  time_fields(x, f);
  rate_fields(x, f);
}

void final_fields(FinalRecord& x, FieldList& f) {
  contestant_fields(x, f);
  f("role", x.role);
  outcome_fields(x, f);
  f("verify", x.verification);
  f("resources", x.resources);
  f("conditions", x.conditions);
}

void candidate_fields(CandidateRecord& x, FieldList& f) {
  f.record("candidate", "A config that the search tried");
  f("id", x.id).looks_like(kIdPattern);
  f("kernel", x.kernel);
  f("config", x.config).object().schema(kConfigSchema);
  outcome_fields(x, f);
  f("duplicate_of", x.duplicate_of).omitted().looks_like(kIdPattern);
  f("hot", x.hot);
  f("cold", x.cold);
  f("verify", x.verification);
  f("resources", x.resources);
  f("at_s", x.at_s).about("Since the run began");
}

}  // namespace fatune::document
