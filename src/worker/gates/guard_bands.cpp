// guard_bands.cpp: Refuses a kernel that wrote around a tensor or between the rows of an output.
#include <functional>
#include <string_view>

#include "worker/gates/gates.hpp"

namespace fatune {
namespace {

/// The gaps hold the pattern of the last filling, so the checksum of an output with gaps becomes
/// one of its elements.
MaybeFailure check_gaps(GateContext& context) {
  DeviceProblem& problem = context.problem;
  for (std::size_t i = 0; i < context.output_sums.size(); ++i) {
    if (!problem.has_gaps(i)) continue;
    if (auto failure = context.failed(problem.fetch(1, i))) return failure;
    if (const auto finding =
            gap_finding(problem.output(i), {problem.host_memory(1, i), context.pattern}))
      return refused(finding->gate, finding->what);
    const std::span<const std::byte> elements = problem.host_output(1, i);
    context.output_sums[i] = std::hash<std::string_view>()(
        {reinterpret_cast<const char*>(elements.data()), elements.size()});
  }
  return std::nullopt;
}

}  // namespace

GateReport check_guard_bands(GateContext& context) {
  const auto findings = context.problem.checks().check_bands(
      pointers_to({context.set->inputs, context.problem.outputs(), context.program.scratch()}));
  if (!findings) return context.failed(findings);
  if (!findings->empty()) return refused(GateId::kGuardBands, describe(findings->front()));
  return check_gaps(context);
}

}  // namespace fatune
