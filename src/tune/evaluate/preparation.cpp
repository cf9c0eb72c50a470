// preparation.cpp: Creates inputs, and requests the compilations of references and checks.
#include "tune/evaluate/preparation.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/text.hpp"

namespace fatune {
namespace {

/// The device checks among the embedded kernel files.
constexpr std::string_view kChecksSource = "common/checks.cu";

Result<CompileRequest> checks_request(const DeviceLimits& limits) {
  CompileRequest request;
  request.label = "device checks";
  FATUNE_TRY(request.source, embedded_source(kChecksSource));
  request.arch = limits.arch;
  return request;
}

Result<std::string> cubin_of(CompileService& service, Ticket ticket, const std::string& what) {
  FATUNE_TRY(const Compiled compiled, wait_for(service, ticket));
  if (compiled.ok) return compiled.cubin_path.string();
  return environment_error("cannot compile the " + what + ": " + compiled.problem);
}

}  // namespace

Status check_memory(const Operation& operation, const Problem& problem, const LaunchPlan& reference,
                    const DeviceLimits& limits, std::size_t cases) {
  FATUNE_TRY(const OperationPlan plan, operation.plan(problem));
  double needed = 0;
  for (const TensorPlan& tensor : plan.tensors) {
    const auto bytes = static_cast<double>(tensor.bytes());
    // The reference output is kept as well, in fp32.
    if (tensor.output) needed += bytes + 4.0 * static_cast<double>(tensor.elements());
    if (!tensor.output || tensor.filled) needed += static_cast<double>(cases) * bytes;
  }
  if (problem.is(is_fp8))
    needed += static_cast<double>(least_bytes(unquantized(problem.as_attention())).value);
  for (const ScratchFacts& scratch : reference.scratch)
    needed += static_cast<double>(scratch.bytes);
  if (limits.memory_bytes == 0 || needed <= static_cast<double>(limits.memory_bytes)) return {};
  return usage_error(fmt::format(
      "{} needs {} of GPU memory with its reference, the device has {}; choose a smaller {}",
      describe(problem), describe(Bytes(static_cast<std::uint64_t>(needed))),
      describe(Bytes(static_cast<std::uint64_t>(limits.memory_bytes))), operation.size_option()));
}

std::vector<InputCase> final_cases(const Operation& operation, const Problem& problem,
                                   std::uint64_t seed) {
  std::vector<InputCase> cases = search_cases(problem, seed);
  for (const InputCase& hard : operation.hard_cases(problem, seed)) {
    if (std::ranges::find(cases, hard) == cases.end()) cases.push_back(hard);
  }
  return cases;
}

Result<PendingProblem> request_problem(CompileService& service, const PreparationSetting& setting,
                                       const Problem& problem, std::vector<InputCase> cases) {
  const Manifest& manifest = setting.reference->manifest;
  FATUNE_TRY(const std::string unsupported, unsupported_reason(manifest, problem, setting.limits));
  if (!unsupported.empty()) {
    return usage_error("the reference kernel " + manifest.name + " cannot do " + describe(problem) +
                       ": " + unsupported);
  }
  const Candidate slice{setting.reference, default_config(manifest),
                        manifest.operation->reference_problem(problem)};
  PendingProblem pending;
  BeginOrder& order = pending.order;
  order.problem = problem;
  order.kernel_deadline_s = setting.kernel_deadline_s;
  FATUNE_TRY(const OperationPlan plan, manifest.operation->plan(problem));
  if (problem.custom()) order.custom = plan;
  FATUNE_TRY(order.reference.plan, launch_plan(slice, setting.limits));
  order.low_precision.plan = order.reference.plan;
  FATUNE_TRY_STATUS(check_memory(*manifest.operation, problem, order.reference.plan, setting.limits,
                                 cases.size()));
  order.cases = std::move(cases);
  FATUNE_TRY(const CompileRequest checks, checks_request(setting.limits));
  pending.reference = service.submit(compile_request(slice, setting.limits, {"OUT_F32=1"}));
  if (!order.custom || order.custom->has_low_precision()) {
    Candidate low_precision = slice;
    if (problem.is(is_fused))
      low_precision.problem = with_given_factors(slice.problem.as_attention());
    FATUNE_TRY(order.low_precision.plan, launch_plan(low_precision, setting.limits));
    pending.low_precision =
        service.submit(compile_request(low_precision, setting.limits, {"ROUND_INTERMEDIATES=1"}));
  }
  if (problem.is(has_descales)) {
    Candidate plain = slice;
    plain.problem = unquantized(slice.problem.as_attention());
    FATUNE_TRY(order.unquantized.emplace().plan, launch_plan(plain, setting.limits));
    pending.unquantized = service.submit(compile_request(plain, setting.limits, {"OUT_F32=1"}));
  }
  pending.checks = service.submit(checks);
  return pending;
}

Result<BeginOrder> finish_problem(CompileService& service, PendingProblem pending) {
  BeginOrder& order = pending.order;
  FATUNE_TRY(order.reference.cubin, cubin_of(service, pending.reference, "reference kernel"));
  if (pending.low_precision) {
    FATUNE_TRY(order.low_precision.cubin,
               cubin_of(service, *pending.low_precision, "low-precision reference"));
  }
  if (pending.unquantized) {
    FATUNE_TRY(order.unquantized->cubin,
               cubin_of(service, *pending.unquantized, "reference kernel for unquantized inputs"));
  }
  FATUNE_TRY(order.checks_cubin, cubin_of(service, pending.checks, "device checks"));
  return std::move(order);
}

void cancel_problem(CompileService& service, const PendingProblem& pending) {
  service.cancel(pending.reference);
  service.cancel(pending.checks);
  if (pending.low_precision) service.cancel(*pending.low_precision);
  if (pending.unquantized) service.cancel(*pending.unquantized);
}

}  // namespace fatune
