// selftest.cpp: Runs fixtures and honest kernels, and judges their records.
#include "tune/evaluate/selftest.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "model/kernel/expression.hpp"
#include "model/kernel/gate_table.hpp"
#include "model/results/measurement.hpp"

namespace fatune {
namespace {

constexpr const char* kNotRun = "not_run";
/// Small, and large enough for several whole tiles.
const Attention kUsual{
    .batch = 1, .heads = 2, .kv_heads = 2, .seq_q = 128, .seq_kv = 128, .head_dim = 64};

/// A fault in one tensor of a correct launch.
struct Cheat {
  const char* name;      ///< kernel name; {} is replaced by the tensor
  std::string_view how;  ///< enumerator of kernels/faults/spoiled.cuh
  GateId gate;
  const char* static_shared_bytes = "0";
  bool on_poison = false;  ///< shows on a poisoned output alone
};
constexpr std::string_view kNoNumber = "kNan";  // integers have no NaN
constexpr Cheat kWithoutReference{"does_nothing", "kNothing", GateId::kPoison};
constexpr Cheat kOfInputs[] = {{"changes_{}", "kChanged", GateId::kInputs}};
constexpr Cheat kOfOutputs[] = {
    {"zeros_in_{}", "kZeros", GateId::kAccuracy},
    {"nan_in_{}", kNoNumber, GateId::kAccuracy},
    {"wrong_sign_in_{}", "kWrongSign", GateId::kAccuracy, "8"},
    {"last_of_{}_unwritten", "kLastUnwritten", GateId::kPoison, "0", true},
    {"writes_past_{}", "kOnePast", GateId::kGuardBands},
    {"varies_in_{}", "kVaries", GateId::kRepeat},
    {"stops_writing_{}", "kStops", GateId::kTimedOutput},
    {"keeps_old_{}", "kKeepsOld", GateId::kTimedOutput, "0", true}};

constexpr const char* kSpoiledSource = "faults/spoiled.cuh";
constexpr const char* kKept = "fatune_kept";
/// Code after the reference's text, in lower case because size macros are in capitals.
constexpr std::string_view kEntries = R"({0}
extern "C" __global__ void fatune_keep(const {1}* tensor, {1}* kept) {{
  spoiled::keep(tensor, kept, {2}ll);
}}
extern "C" __global__ void fatune_spoil({1}* tensor, const {1}* kept) {{
  spoiled::spoil(spoiled::{3}, tensor, kept, {2}ll);
}}
)";

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

Fixture new_cheat(Kernel kernel, std::string called, GateId gate) {
  kernel.manifest.name = called;
  kernel.manifest.role = Role::kFault;
  auto shared = std::make_shared<const Kernel>(std::move(kernel));
  Config config = default_config(shared->manifest);
  return {std::move(called),
          std::move(shared),
          std::move(config),
          {std::string(name(Outcome::kWrongResult)), std::string(name(gate))}};
}

/// Makes a fixture that saves the tensor, runs the reference, and then spoils the tensor.
Fixture spoiled(const Kernel& reference, const SourceFile& source, const Cheat& cheat,
                const TensorPlan& tensor) {
  constexpr std::array kWords = {"", "unsigned char",     "unsigned short", "", "unsigned", "", "",
                                 "", "unsigned long long"};
  Kernel kernel = reference;
  const std::string include = fmt::format("\n#include \"{}\"", source.path);
  kernel.source.text +=
      fmt::format(kEntries, include, kWords.at(tensor.width()), tensor.elements(), cheat.how);
  kernel.headers.push_back(source);
  kernel.manifest.scratch.push_back({kKept, fmt::to_string(tensor.bytes())});
  std::vector<StageSpec>& stages = kernel.manifest.stages;
  if (&cheat == &kWithoutReference) stages.clear();
  stages.insert(stages.begin(), stage_of("fatune_keep", tensor));
  stages.push_back(stage_of("fatune_spoil", tensor));
  stages.back().static_shared_bytes = cheat.static_shared_bytes;
  return new_cheat(std::move(kernel), fmt::format(fmt::runtime(cheat.name), tensor.name),
                   cheat.gate);
}

/// A candidate and its expected fault.
struct Trial {
  std::string name;
  Candidate candidate;
  std::optional<Fault> fault = std::nullopt;  ///< none for an honest kernel
};

Trial trial_of(Fixture fixture, const Problem& problem) {
  return {std::move(fixture.name),
          {std::move(fixture.kernel), std::move(fixture.config), problem},
          std::move(fixture.fault)};
}

Trial honest_trial(const KernelRef& kernel, const Problem& problem) {
  return {kernel->manifest.name, {kernel, default_config(kernel->manifest), problem}};
}

Attention usual_problem(const Manifest& manifest) {
  Attention problem = kUsual;
  problem.dtype = manifest.dtypes.front();
  problem.out_dtype = default_out_dtype(problem.dtype);
  problem.quant = usual_quant(manifest);
  return problem;
}

/// Returns the fixtures on their problems, and the honest kernel without and, if supported, with
/// lse.
std::vector<Trial> trials_of(const KernelRef& kernel) {
  const Manifest& manifest = kernel->manifest;
  if (manifest.operation->declared() != nullptr) return {};
  std::vector<Trial> trials;
  for (Fixture& fixture : fixtures_of(kernel)) {
    const Problem problem = fixture.fault.problem.value_or(usual_problem(manifest));
    trials.push_back(trial_of(std::move(fixture), problem));
  }
  if (manifest.role != Role::kAttention) return trials;
  Attention problem = usual_problem(manifest);
  trials.push_back(honest_trial(kernel, problem));
  problem.lse = true;
  if (manifest.lse) trials.push_back(honest_trial(kernel, problem));
  return trials;
}

SelftestRow new_row(const Trial& trial) {
  SelftestRow row;
  row.kernel = trial.name;
  row.problem = trial.candidate.problem;
  row.gate = trial.fault ? trial.fault->gate : "";
  row.expected_outcome = trial.fault ? trial.fault->outcome : std::string(name(Outcome::kMeasured));
  return row;
}

/// Explains why the device cannot run the trial; empty if it can.
Result<std::string> not_run_reason(const Trial& trial, const DeviceLimits& limits) {
  const Candidate& candidate = trial.candidate;
  const Manifest& manifest = candidate.kernel->manifest;
  FATUNE_TRY(std::string unsupported, unsupported_reason(manifest, candidate.problem, limits));
  if (!unsupported.empty() || !trial.fault || trial.fault->when.require.empty()) return unsupported;
  const Rule& when = trial.fault->when;
  FATUNE_TRY(const Expression expression, Expression::parse(when.require, when.where));
  FATUNE_TRY(const bool shows,
             expression.test(scope_of(manifest, candidate.config, candidate.problem, limits)));
  return shows ? std::string() : "needs " + when.require;
}

Result<SelftestRow> try_out(const Trial& trial, Evaluator& evaluator) {
  SelftestRow row = new_row(trial);
  FATUNE_TRY(row.reason, not_run_reason(trial, evaluator.environment().limits));
  if (!row.reason.empty()) {
    row.outcome = kNotRun;
    return row;
  }
  FATUNE_TRY_STATUS(evaluator.submit(trial.candidate));
  FATUNE_TRY(const CandidateRecord record, evaluator.collect());
  const bool cannot = !trial.fault && record.outcome == Outcome::kInfeasible;
  const bool unasked = row.gate == name(GateId::kInLayer) && record.outcome == Outcome::kMeasured &&
                       !record.in_layer;
  row.outcome = cannot || unasked ? kNotRun : name(record.outcome);
  row.reason = unasked ? "there are no times in a layer" : record.reason;
  row.caught =
      row.outcome == row.expected_outcome && gate_of(record.outcome, record.reason) == row.gate;
  return row;
}

Status run_group(const Problem& problem, const std::vector<Trial>& group, Evaluator& evaluator,
                 SelftestResult& result) {
  RunPlan plan;
  plan.record_cold = true;
  FATUNE_TRY_STATUS(evaluator.begin_problem(problem, plan));
  for (const Trial& trial : group) {
    FATUNE_TRY(SelftestRow row, try_out(trial, evaluator));
    (trial.fault ? result.cheats : result.honest).push_back(std::move(row));
  }
  return {};
}

bool right(const std::vector<SelftestRow>& rows) {
  return std::all_of(rows.begin(), rows.end(),
                     [](const SelftestRow& row) { return row.caught || row.outcome == kNotRun; });
}

}  // namespace

bool SelftestResult::passed() const { return !cheats.empty() && right(cheats) && right(honest); }

std::vector<Fixture> fixtures_of(const KernelRef& kernel) {
  const Manifest& manifest = kernel->manifest;
  std::vector<Fixture> fixtures;
  for (std::size_t i = 0; i < manifest.parameters.size(); ++i) {
    const Parameter& parameter = manifest.parameters[i];
    std::vector<std::uint16_t> positions = default_positions(manifest);
    for (std::size_t value = 0; value < parameter.faults.size(); ++value) {
      positions[i] = static_cast<std::uint16_t>(value);
      fixtures.push_back({parameter.values[value].word, kernel, config_at(manifest, positions),
                          parameter.faults[value]});
    }
  }
  return fixtures;
}

Result<std::vector<Fixture>> cheats_at(const Problem& problem, const KernelRef& reference) {
  const Manifest& manifest = reference->manifest;
  FATUNE_TRY(const OperationPlan plan, manifest.operation->plan(problem));
  FATUNE_TRY(const SourceFile source, embedded_source(kSpoiledSource));
  std::vector<Fixture> cheats;
  for (const TensorPlan& tensor : plan.tensors) {
    for (const Cheat& cheat : tensor.output ? std::span<const Cheat>(kOfOutputs) : kOfInputs) {
      if (tensor.whole() && cheat.how == kNoNumber) continue;
      if (tensor.filled && cheat.on_poison) continue;
      cheats.push_back(spoiled(*reference, source, cheat, tensor));
    }
  }
  cheats.push_back(spoiled(*reference, source, kWithoutReference, plan.outputs().front()));
  if (std::ranges::all_of(plan.outputs(), &TensorPlan::filled))
    cheats.back().fault.gate = name(GateId::kAccuracy);
  if (manifest.stages.front().dependent == "0" && plan.inputs().size() <= kMostEarlyInputs &&
      !plan.fills_outputs()) {
    Kernel early = *reference;
    early.manifest.stages.front().dependent = "1";
    early.manifest.min_arch = std::max(early.manifest.min_arch, kFirstDependentArch);
    cheats.push_back(new_cheat(std::move(early), "begins_early", GateId::kEarlyStart));
  }
  return cheats;
}

Result<SelftestResult> run_selftest(const std::vector<KernelRef>& kernels, Evaluator& evaluator) {
  std::map<Problem, std::vector<Trial>> by_problem;
  for (const KernelRef& kernel : kernels) {
    for (Trial& trial : trials_of(kernel)) {
      const Problem problem = trial.candidate.problem;
      by_problem[problem].push_back(std::move(trial));
    }
  }
  SelftestResult result;
  for (const auto& [problem, group] : by_problem)
    FATUNE_TRY_STATUS(run_group(problem, group, evaluator, result));
  return result;
}

Result<SelftestResult> run_selftest(const std::vector<KernelRef>& kernels, const Problem& problem,
                                    const KernelRef& reference, Evaluator& evaluator) {
  FATUNE_TRY(std::vector<Fixture> cheats, cheats_at(problem, reference));
  std::vector<Trial> group;
  for (Fixture& cheat : cheats) group.push_back(trial_of(std::move(cheat), problem));
  for (const KernelRef& kernel : kernels) {
    if (kernel->manifest.operation->name == operation_name(problem))
      group.push_back(honest_trial(kernel, problem));
  }
  SelftestResult result;
  FATUNE_TRY_STATUS(run_group(problem, group, evaluator, result));
  return result;
}

}  // namespace fatune
