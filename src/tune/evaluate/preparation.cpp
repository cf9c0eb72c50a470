// preparation.cpp - compile requests for what a worker needs besides candidates.
#include "tune/evaluate/preparation.hpp"

#include <algorithm>
#include <utility>

#include "core/embedded.hpp"
#include "core/text.hpp"
#include "model/problem/work.hpp"
#include "tune/evaluate/edge_problems.hpp"

namespace fatune {
namespace {

/// Of the device checks, among the embedded kernel files.
constexpr std::string_view kChecksSource = "common/checks.cu";

constexpr std::uint64_t kSecondSeed = 1;  // added to the plan's

Result<CompileRequest> checks_request(const DeviceLimits& limits) {
  for (const EmbeddedFile& file : embedded_kernel_files()) {
    if (file.path != kChecksSource) continue;
    CompileRequest request;
    request.label = "device checks";
    request.source = {std::string(file.path), std::string(file.text)};
    request.arch = limits.arch;
    return request;
  }
  return file_error("the program was built without kernels/" + std::string(kChecksSource));
}

Result<std::string> cubin_of(CompileService& service, Ticket ticket, const std::string& what) {
  FATUNE_TRY(const Compiled compiled, wait_for(service, ticket));
  if (compiled.ok) return compiled.cubin_path.string();
  return environment_error("cannot compile the " + what + ": " + compiled.problem);
}

Status check_room(const Problem& problem, double needed, const DeviceLimits& limits) {
  if (limits.memory_bytes == 0 || needed <= static_cast<double>(limits.memory_bytes)) return {};
  return usage_error(describe(problem) + " needs " +
                     describe(Bytes(static_cast<std::uint64_t>(needed))) +
                     " of GPU memory with its reference, the device has " +
                     describe(Bytes(static_cast<std::uint64_t>(limits.memory_bytes))) +
                     "; choose a smaller " + (problem.custom ? "--size" : "--shape"));
}

}  // namespace

Result<Compiled> wait_for(CompileService& service, Ticket ticket) {
  while (!service.ready(ticket)) FATUNE_TRY_STATUS(service.pump(std::chrono::milliseconds(100)));
  return service.take(ticket);
}

Status check_memory(const Problem& problem, const DeviceLimits& limits, std::size_t cases) {
  const double inputs =
      static_cast<double>(query_bytes(problem).value + 2 * key_bytes(problem).value);
  const double lse = static_cast<double>(lse_bytes(problem).value);
  const double output = static_cast<double>(query_bytes(problem).value) + lse;
  const double reference = 4.0 * static_cast<double>(problem.query_elements()) + lse;
  const double scores =
      4.0 * static_cast<double>(problem.seq_q) * static_cast<double>(problem.seq_kv);
  const double needed = static_cast<double>(cases) * inputs + output + reference + scores;
  return check_room(problem, needed, limits);
}

Status check_memory(const Problem& problem, const OperationPlan& plan, const DeviceLimits& limits,
                    std::size_t cases) {
  double needed = 0;
  for (const TensorPlan& tensor : plan.tensors) {
    const auto bytes = static_cast<double>(tensor.bytes());
    // An output is there once more as the reference wrote it, in fp32.
    needed += tensor.output ? bytes + 4.0 * static_cast<double>(tensor.elements())
                            : static_cast<double>(cases) * bytes;
  }
  return check_room(problem, needed, limits);
}

std::vector<InputCase> search_cases(std::uint64_t seed) {
  return {{Distribution::kNormal, seed}, {Distribution::kNormal, seed + kSecondSeed}};
}

std::vector<InputCase> final_cases(const Problem& problem, std::uint64_t seed,
                                   const OperationRef& operation) {
  std::vector<InputCase> cases = search_cases(seed);
  if (const DeclaredOperation* declared = operation->declared()) {
    const std::vector<InputCase> hard = hard_cases(*declared, seed);
    cases.insert(cases.end(), hard.begin(), hard.end());
    return cases;
  }
  if (is_large(problem)) return cases;
  for (const Distribution each :
       {Distribution::kUniform, Distribution::kOutliers, Distribution::kLargeLogits,
        Distribution::kOnesV, Distribution::kZeroQ, Distribution::kLastKey}) {
    cases.push_back({each, seed});
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
  pending.problem = problem;
  if (problem.custom) {
    FATUNE_TRY(pending.custom, manifest.operation->plan(problem));
  }
  FATUNE_TRY_STATUS(pending.custom
                        ? check_memory(problem, *pending.custom, setting.limits, cases.size())
                        : check_memory(problem, setting.limits, cases.size()));
  pending.cases = std::move(cases);
  FATUNE_TRY(pending.plan, launch_plan(slice, setting.limits));
  FATUNE_TRY(const CompileRequest checks, checks_request(setting.limits));
  pending.reference = service.submit(compile_request(slice, setting.limits, {"OUT_F32=1"}));
  if (!pending.custom || !pending.custom->tolerance) {
    pending.twin =
        service.submit(compile_request(slice, setting.limits, {"ROUND_INTERMEDIATES=1"}));
  }
  pending.checks = service.submit(checks);
  return pending;
}

Result<BeginOrder> finish_problem(CompileService& service, const PreparationSetting& setting,
                                  const PendingProblem& pending) {
  BeginOrder order;
  order.problem = pending.problem;
  order.cases = pending.cases;
  order.custom = pending.custom;
  order.kernel_deadline_s = setting.kernel_deadline_s;
  order.reference.plan = order.twin.plan = pending.plan;
  FATUNE_TRY(order.reference.cubin, cubin_of(service, pending.reference, "reference kernel"));
  if (pending.twin) {
    FATUNE_TRY(order.twin.cubin,
               cubin_of(service, *pending.twin, "reference kernel's low-precision twin"));
  }
  FATUNE_TRY(order.checks_cubin, cubin_of(service, pending.checks, "device checks"));
  return order;
}

}  // namespace fatune
