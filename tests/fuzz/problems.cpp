// problems.cpp - suites, shapes, sizes and layouts; problems of other benchmarks.
#include "fuzz.hpp"
#include "model/interchange/kernelbench.hpp"
#include "model/interchange/trace_set.hpp"
#include "model/problem/suite.hpp"

namespace fatune::fuzz {

void suite(std::string_view text) {
  const auto parsed = parse_suite(text, "x");
  if (!parsed) return;
  for (const NamedProblem& each : parsed->problems) {
    check_round_trip(each);
    FATUNE_CHECK(slug(each.problem).find('/') == std::string::npos, "it is part of a file's name");
  }
}

void shape(std::string_view text) {
  if (const auto problem = parse_shape(text)) check_round_trip(*problem);
  static_cast<void>(parse_sizes(text, "x"));
  const auto layouts = parse_layouts(text);
  if (!layouts) return;
  const auto again = parse_layouts(name(*layouts));
  FATUNE_CHECK(again && *again == *layouts, "a layout's name is read as the layout");
}

void definition(std::string_view text) {
  const auto parsed = parse_definition(text, "x");
  if (!parsed) return;
  TraceWorkload workload{.uuid = "u"};
  for (const TraceAxis& axis : parsed->axes) workload.axes[axis.name] = 64;
  for (const TraceTensor& input : parsed->inputs) workload.numbers[input.name] = 0.125;
  const auto problem = problem_of(*parsed, workload, "x");
  if (problem) check_round_trip(*problem);
}

void workloads(std::string_view text) { static_cast<void>(parse_workloads(text, "x")); }

void kernelbench(std::string_view text) {
  const auto parsed = parse_kernelbench(text, "f16", "x.py");
  if (parsed) check_round_trip(parsed->problems.front());
}

}  // namespace fatune::fuzz
