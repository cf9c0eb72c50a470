// preparation.cpp - edge problems, inputs, and compile requests for what a worker needs besides
// candidates.
#include "tune/evaluate/preparation.hpp"

#include <algorithm>
#include <utility>

#include "core/check.hpp"
#include "core/text.hpp"
#include "model/problem/work.hpp"

namespace fatune {
namespace {

struct EdgeSizes {
  std::int64_t batch, heads, kv_heads, seq_q, seq_kv;
};

/// Tiles are 16 to 256 rows and keys: 63, 65, 127 and 129 are beside the edges of most. Few
/// problems with much in each, because every one is a compilation for every finalist.
constexpr EdgeSizes kSizes[] = {
    {1, 1, 1, 1, 1},      // one query, one key: the output is the value
    {2, 3, 3, 17, 17},    // a tile that is nearly empty, odd heads
    {4, 1, 1, 63, 65},    // one less and one more than a tile
    {8, 2, 1, 65, 63},    // grouped heads; causal rows that see nothing
    {1, 5, 5, 129, 127},  // over two tiles
    {2, 4, 2, 1, 200},    // one new query, as in decoding
};
constexpr EdgeSizes kHard = {1, 3, 3, 127, 129};  // with every distribution
constexpr double kLargeFlops = 2e11;

Problem with_sizes(Problem problem, const EdgeSizes& sizes) {
  problem.batch = sizes.batch;
  problem.heads = sizes.heads;
  problem.kv_heads = sizes.kv_heads;
  problem.seq_q = sizes.seq_q;
  problem.seq_kv = sizes.seq_kv;
  return problem;
}

/// One batch and one key/value head, with the query heads that share it.
Problem one_head_group(Problem problem) {
  problem.batch = 1;
  problem.heads /= problem.kv_heads;
  problem.kv_heads = 1;
  return problem;
}

/// Of the device checks, among the embedded kernel files.
constexpr std::string_view kChecksSource = "common/checks.cu";

constexpr std::uint64_t kSecondSeed = 1;  // added to the plan's

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

Status check_room(const Problem& problem, double needed, const DeviceLimits& limits) {
  if (limits.memory_bytes == 0 || needed <= static_cast<double>(limits.memory_bytes)) return {};
  return usage_error(describe(problem) + " needs " +
                     describe(Bytes(static_cast<std::uint64_t>(needed))) +
                     " of GPU memory with its reference, the device has " +
                     describe(Bytes(static_cast<std::uint64_t>(limits.memory_bytes))) +
                     "; choose a smaller " + (problem.custom ? "--size" : "--shape"));
}

}  // namespace

bool is_large(const Problem& problem) {
  if (problem.custom) return false;
  return flops(problem).value > kLargeFlops && !(one_head_group(problem) == problem);
}

std::vector<EdgeProblem> edge_problems(const Problem& like, std::uint64_t seed) {
  std::vector<EdgeProblem> problems;
  for (const EdgeSizes& sizes : kSizes) {
    problems.push_back({with_sizes(like, sizes), {{Distribution::kNormal, seed}}});
  }
  EdgeProblem hard{with_sizes(like, kHard), {}};
  for (const Distribution each :
       {Distribution::kNormal, Distribution::kUniform, Distribution::kOutliers,
        Distribution::kLargeLogits, Distribution::kZeros, Distribution::kOnesV,
        Distribution::kZeroQ, Distribution::kLastKey}) {
    hard.cases.push_back({each, seed});
  }
  if (is_large(like)) problems.push_back({one_head_group(like), hard.cases});
  problems.push_back(std::move(hard));
  return problems;
}

std::vector<InputCase> hard_cases(const DeclaredOperation& operation, std::uint64_t seed) {
  std::vector<InputCase> cases;
  for (const std::string& word : operation.hard_inputs) {
    const auto distribution = parse_distribution(word);
    FATUNE_CHECK(static_cast<bool>(distribution), "the declaration's reader knows the words");
    cases.push_back({*distribution, seed});
  }
  return cases;
}

Result<std::vector<EdgeProblem>> edge_problems(const Problem& like, std::uint64_t seed,
                                               const OperationRef& operation) {
  const DeclaredOperation* declared = operation->declared();
  if (declared == nullptr) return edge_problems(like, seed);
  std::vector<EdgeProblem> problems;
  for (const std::vector<NamedSize>& sizes : declared->edges) {
    FATUNE_TRY(Problem edge, declared->problem(sizes, like.dtype));
    problems.push_back({std::move(edge), {{Distribution::kNormal, seed}}});
  }
  if (problems.empty()) return problems;
  const std::vector<InputCase> hard = hard_cases(*declared, seed);
  std::vector<InputCase>& cases = problems.back().cases;
  cases.insert(cases.end(), hard.begin(), hard.end());
  return problems;
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
