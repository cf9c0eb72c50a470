// selftest.cpp - submits cheats and honest kernels problem by problem, and judges the records;
// makes the cheats of a declared operation from its reference.
#include "tune/evaluate/selftest.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "model/kernel/gate_table.hpp"
#include "model/results/measurement.hpp"

namespace fatune {
namespace {

constexpr const char* kNotRun = "not_run";
/// Small, and large enough for whole tiles and a last one.
const Problem kUsual{
    .batch = 1, .heads = 2, .kv_heads = 2, .seq_q = 128, .seq_kv = 128, .head_dim = 64};

constexpr std::int64_t kDescaleBlock = 64;  // the usual problem has two such blocks

bool is_fixture(const Manifest& manifest) {
  return manifest.role == Role::kFault && !manifest.expected_gate.empty();
}

/// A way to spoil a tensor of a right launch.
struct Cheat {
  const char* name;  ///< of its kernel; {} is the tensor
  const char* how;   ///< of kernels/faults/spoiled.cuh
  GateId gate;
  const char* static_shared_bytes = "0";
};
constexpr Cheat kWithoutReference{"does_nothing", "kNothing", GateId::kPoison};
constexpr Cheat kOfInputs[] = {{"changes_{}", "kChanged", GateId::kInputs}};
constexpr Cheat kOfOutputs[] = {{"zeros_in_{}", "kZeros", GateId::kAccuracy},
                                {"nan_in_{}", "kNan", GateId::kAccuracy},
                                {"wrong_sign_in_{}", "kWrongSign", GateId::kAccuracy, "8"},
                                {"last_of_{}_unwritten", "kLastUnwritten", GateId::kPoison},
                                {"writes_past_{}", "kOnePast", GateId::kGuardBands},
                                {"varies_in_{}", "kVaries", GateId::kRepeat},
                                {"stops_writing_{}", "kStops", GateId::kTimedOutput},
                                {"keeps_old_{}", "kKeepsOld", GateId::kTimedOutput}};

constexpr const char* kSpoiledSource = "faults/spoiled.cuh";
constexpr const char* kKept = "fatune_kept";
/// Behind the reference's text. Sizes are macros in capitals, so nothing here is.
constexpr std::string_view kEntries = R"({0}
extern "C" __global__ void fatune_keep(const {1}* tensor, {1}* kept) {{
  spoiled::keep(tensor, kept, {2}ll);
}}
extern "C" __global__ void fatune_spoil({1}* tensor, const {1}* kept) {{
  spoiled::spoil(spoiled::{3}, tensor, kept, {2}ll);
}}
)";

Kernel new_cheat(const Kernel& reference, std::string called, GateId gate) {
  Kernel kernel = reference;
  kernel.manifest.name = std::move(called);
  kernel.manifest.role = Role::kFault;
  kernel.manifest.expected_outcome = name(Outcome::kWrongResult);
  kernel.manifest.expected_gate = name(gate);
  return kernel;
}

StageSpec stage_of(const char* entry, const TensorPlan& tensor) {
  StageSpec stage;
  stage.entry = entry;
  stage.grid = {"64", "1", "1"};
  stage.block = {"256", "1", "1"};
  stage.cluster = {"1", "1", "1"};
  stage.shared_bytes = stage.static_shared_bytes = "0";
  stage.arguments = {tensor.name, kKept};
  return stage;
}

/// The tensor is kept, the reference runs, the tensor is spoiled.
KernelRef spoiled(const Kernel& reference, const SourceFile& source, const Cheat& cheat,
                  const TensorPlan& tensor) {
  constexpr const char* kWords[] = {"", "unsigned char", "unsigned short", "", "unsigned"};
  Kernel kernel =
      new_cheat(reference, fmt::format(fmt::runtime(cheat.name), tensor.name), cheat.gate);
  const std::string include = fmt::format("\n#include \"{}\"", source.path);
  kernel.source.text +=
      fmt::format(kEntries, include, kWords[tensor.width()], tensor.elements(), cheat.how);
  kernel.headers.push_back(source);
  kernel.manifest.scratch.push_back({kKept, fmt::to_string(tensor.bytes())});
  std::vector<StageSpec>& stages = kernel.manifest.stages;
  if (&cheat == &kWithoutReference) stages.clear();
  stages.insert(stages.begin(), stage_of("fatune_keep", tensor));
  stages.push_back(stage_of("fatune_spoil", tensor));
  stages.back().static_shared_bytes = cheat.static_shared_bytes;
  return std::make_shared<const Kernel>(std::move(kernel));
}

/// In the first type that it supports. A fixture that can write the log-sum-exp, or takes factors
/// of blocks of tokens, is at fault there; an honest kernel must be right with either and without.
std::vector<Problem> problems_for(const Manifest& manifest) {
  if (manifest.operation->declared() != nullptr) return {};
  if (!is_fixture(manifest) && manifest.role != Role::kAttention) return {};
  Problem problem = manifest.selftest_shape.value_or(kUsual);
  problem.dtype = manifest.dtypes.front();
  problem.out_dtype = default_out_dtype(problem.dtype);
  problem.quant = manifest.quant;
  const bool with_blocks = manifest.descale_blocks && is_fp8(problem);
  if (is_fixture(manifest) && with_blocks) problem.descale_block = kDescaleBlock;
  std::vector<Problem> problems;
  if (!is_fixture(manifest) || !manifest.lse) problems.push_back(problem);
  problem.lse = true;
  if (manifest.lse) problems.push_back(problem);
  problem.descale_block = kDescaleBlock;
  problem.lse = false;
  if (!is_fixture(manifest) && with_blocks) problems.push_back(problem);
  return problems;
}

SelftestRow new_row(const Candidate& candidate) {
  const Manifest& manifest = candidate.kernel->manifest;
  SelftestRow row;
  row.kernel = manifest.name;
  row.problem = candidate.problem;
  row.gate = manifest.expected_gate;
  row.expected_outcome =
      is_fixture(manifest) ? manifest.expected_outcome : std::string(name(Outcome::kMeasured));
  return row;
}

Result<SelftestRow> try_kernel(const Candidate& candidate, Evaluator& evaluator) {
  SelftestRow row = new_row(candidate);
  FATUNE_TRY(const std::string unsupported,
             unsupported_reason(candidate.kernel->manifest, candidate.problem,
                                evaluator.environment().limits));
  if (!unsupported.empty()) {
    row.outcome = kNotRun;
    row.reason = unsupported;
    return row;
  }
  FATUNE_TRY_STATUS(evaluator.submit(candidate));
  FATUNE_TRY(const CandidateRecord record, evaluator.collect());
  const bool cannot = row.gate.empty() && record.outcome == Outcome::kInfeasible;
  const bool unasked = row.gate == name(GateId::kInLayer) && record.outcome == Outcome::kMeasured &&
                       !record.in_layer;
  row.outcome = cannot || unasked ? kNotRun : name(record.outcome);
  row.reason = unasked ? "there are no times in a layer" : record.reason;
  row.caught =
      row.outcome == row.expected_outcome && gate_of(record.outcome, record.reason) == row.gate;
  return row;
}

Status run_group(const Problem& problem, const std::vector<KernelRef>& group, Evaluator& evaluator,
                 SelftestResult& result) {
  RunPlan plan;
  plan.record_cold = true;
  FATUNE_TRY_STATUS(evaluator.begin_problem(problem, plan));
  for (const KernelRef& kernel : group) {
    const Candidate candidate{kernel, default_config(kernel->manifest), problem};
    FATUNE_TRY(SelftestRow row, try_kernel(candidate, evaluator));
    (is_fixture(kernel->manifest) ? result.cheats : result.honest).push_back(std::move(row));
  }
  return {};
}

bool right(const std::vector<SelftestRow>& rows) {
  return std::all_of(rows.begin(), rows.end(),
                     [](const SelftestRow& row) { return row.caught || row.outcome == kNotRun; });
}

}  // namespace

bool SelftestResult::passed() const { return !cheats.empty() && right(cheats) && right(honest); }

Result<std::vector<KernelRef>> cheats_at(const Problem& problem, const KernelRef& reference) {
  const Manifest& manifest = reference->manifest;
  FATUNE_TRY(const OperationPlan plan, manifest.operation->plan(problem));
  FATUNE_TRY(const SourceFile source, embedded_source(kSpoiledSource));
  std::vector<KernelRef> cheats;
  for (const TensorPlan& tensor : plan.tensors) {
    for (const Cheat& cheat : tensor.output ? std::span<const Cheat>(kOfOutputs) : kOfInputs)
      cheats.push_back(spoiled(*reference, source, cheat, tensor));
  }
  cheats.push_back(spoiled(*reference, source, kWithoutReference, plan.outputs().front()));
  if (manifest.stages.front().dependent == "0" && plan.inputs().size() <= kMostEarlyInputs) {
    Kernel early = new_cheat(*reference, "begins_early", GateId::kEarlyStart);
    early.manifest.stages.front().dependent = "1";
    early.manifest.min_arch = std::max(early.manifest.min_arch, kFirstDependentArch);
    cheats.push_back(std::make_shared<const Kernel>(std::move(early)));
  }
  return cheats;
}

Result<SelftestResult> run_selftest(const std::vector<KernelRef>& kernels, Evaluator& evaluator) {
  std::map<Problem, std::vector<KernelRef>> by_problem;
  for (const KernelRef& kernel : kernels) {
    for (const Problem& problem : problems_for(kernel->manifest))
      by_problem[problem].push_back(kernel);
  }
  SelftestResult result;
  for (const auto& [problem, group] : by_problem)
    FATUNE_TRY_STATUS(run_group(problem, group, evaluator, result));
  return result;
}

Result<SelftestResult> run_selftest(const std::vector<KernelRef>& kernels, const Problem& problem,
                                    const KernelRef& reference, Evaluator& evaluator) {
  FATUNE_TRY(std::vector<KernelRef> group, cheats_at(problem, reference));
  std::copy_if(kernels.begin(), kernels.end(), std::back_inserter(group),
               [&](const KernelRef& kernel) {
                 return kernel->manifest.operation->name == operation_name(problem);
               });
  SelftestResult result;
  FATUNE_TRY_STATUS(run_group(problem, group, evaluator, result));
  return result;
}

}  // namespace fatune
