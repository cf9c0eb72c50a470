// problems.cpp: Fuzzes the readers of suites, shapes, sizes and layouts.
#include "fuzz.hpp"
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

}  // namespace fatune::fuzz
