// problems.cpp - suites, shapes, sizes and layouts; problems of other benchmarks.
#include "fuzz.hpp"
#include "model/interchange/kernelbench.hpp"
#include "model/interchange/kernelbot.hpp"
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

void kernelbot(std::string_view text) {
  constexpr std::string_view kReference =
      "import torch\n"
      "def generate_input(batch, heads, kvheads, seq, dim, seed):\n"
      "    k = torch.randn(batch, kvheads, seq, dim).half()\n"
      "    return torch.randn(batch, heads, seq, dim).half(), k, torch.randn_like(k)\n"
      "def ref_kernel(data):\n"
      "    q, k, v = data\n"
      "    return torch.nn.functional.scaled_dot_product_attention(q, k, v, enable_gqa=True)\n";
  const auto parsed = parse_kernelbot(text, "x");
  if (!parsed) return;
  const auto suite = suite_of(*parsed, kReference, "x");
  if (!suite) return;
  for (const NamedProblem& each : suite->problems) check_round_trip(each);
}

void kernelbot_reference(std::string_view text) {
  KernelBotTask task{"reference.py"};
  task.benchmarks.push_back(
      {{"batch", 2}, {"heads", 8}, {"kvheads", 2}, {"seq", 512}, {"dim", 64}, {"seed", 1}});
  const auto suite = suite_of(task, text, "x");
  if (suite) check_round_trip(suite->problems.front());
}

}  // namespace fatune::fuzz
