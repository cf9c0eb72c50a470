// export_kernel.cpp: Compiles a kernel for export and compares it with its verified results.
#include "export/export_kernel.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/embedded.hpp"
#include "core/fields.hpp"
#include "core/file.hpp"
#include "core/hash.hpp"
#include "core/text.hpp"
#include "model/kernel/entry.hpp"
#include "model/kernel/runtime_sizes.hpp"
#include "model/kernel/vocabulary.hpp"
#include "model/space/rules.hpp"
#include "worker/protocol/compilation.hpp"
#include "worker/protocol/machine_code.hpp"

namespace fatune {
namespace {

TensorFacts facts_of(const TensorPlan& plan) {
  TensorFacts tensor;
  tensor.name = plan.name;
  tensor.type = plan.type_word();
  tensor.shape = plan.shape;
  tensor.output = plan.output;
  tensor.filled = plan.filled;
  tensor.strides = plan.strides;
  if (!tensor.strides.empty()) return tensor;
  tensor.strides.assign(plan.shape.size(), 1);
  for (std::size_t i = plan.shape.size() - 1; i-- > 0;)
    tensor.strides[i] = tensor.strides[i + 1] * plan.shape[i + 1];
  return tensor;
}

/// Adds the run-time sizes, and the shapes that depend on one.
Status add_runtime_sizes(const Candidate& candidate, const DeviceLimits& limits,
                         KernelFacts& facts) {
  const Manifest& manifest = candidate.kernel->manifest;
  facts.runtime_sizes = runtime_sizes(*manifest.operation);
  if (facts.runtime_sizes.empty()) return {};
  const Evaluation evaluation(manifest,
                              scope_of(manifest, candidate.config, candidate.problem, limits));
  for (std::size_t i = 0; i < facts.tensors.size(); ++i) {
    TensorFacts& tensor = facts.tensors[i];
    FATUNE_TRY(tensor.extents,
               evaluation.extents(manifest.operation->declared()->tensors[i].shape, tensor.shape));
  }
  return {};
}

/// Refuses fault kernels and stages that fatune does not compile.
Status check_code(const Manifest& manifest, const LaunchPlan& plan) {
  if (manifest.role == Role::kFault) {
    return usage_error(
        fmt::format("{} is a fixture that computes wrongly on purpose: it is not "
                    "exported",
                    manifest.name));
  }
  for (std::size_t i = 0; i < plan.stages.size(); ++i) {
    const auto& gemm = plan.stages[i].gemm;
    if (!gemm) continue;
    return usage_error(fmt::format(
        "{} cannot be exported: its stage {} is a matrix product of {}, which has no machine "
        "code of ours. Tune kernels without library stages: fatune sweep --kernel NAME",
        manifest.name, i + 1, describe(gemm->library)));
  }
  return {};
}

/// Returns a usage error unless the machine code is verified or the export shall be marked.
Status check_verified(const ExportRequest& request, const std::vector<std::string>& reasons) {
  if (reasons.empty() || request.unverified == Unverified::kMark) return {};
  return usage_error(fmt::format(
      "{}: what would be exported of {} for {} is not verified: {}. Measure it as it is now "
      "(fatune sweep, then export its best.json), or export it all the same, marked as such, with "
      "--unverified",
      request.saved->where, request.candidate.kernel->manifest.name,
      describe(request.candidate.problem), join(reasons, "; ")));
}

Status check_possible(const ExportRequest& request) {
  FATUNE_TRY(const std::string reason, impossible_reason(request.candidate, request.limits));
  if (reason.empty()) return {};
  return usage_error(fmt::format("{}: {} cannot do {} on {} with this config: {}",
                                 request.saved->where, request.candidate.kernel->manifest.name,
                                 describe(request.candidate.problem), name(request.limits.arch),
                                 reason));
}

Result<Compiled> compile(const ExportRequest& request, CompilePool& pool) {
  FATUNE_TRY(const Compiled compiled,
             pool.compile(compile_request(request.candidate, request.limits)));
  if (!compiled.ok) {
    return usage_error(fmt::format("{} does not compile for {}: {}",
                                   request.candidate.kernel->manifest.name,
                                   name(request.limits.arch), compiled.problem));
  }
  return compiled;
}

/// Returns whether a file of the kernel is one of this program.
bool holds_our_text(const Kernel& kernel) {
  std::vector<SourceFile> files = kernel.headers;
  files.push_back(kernel.source);
  return std::ranges::any_of(files, [](const SourceFile& file) {
    return std::ranges::count(embedded_kernel_files(), file.text, &EmbeddedFile::text) > 0;
  });
}

/// Replaces C++ names by the symbols of the machine code.
void name_symbols(std::string_view cubin, KernelFacts& facts) {
  const std::vector<std::string> entries = entry_symbols(cubin);
  for (StageFacts& stage : facts.stages)
    stage.entry = symbol_of(stage.entry, entries).value_or(stage.entry);
  std::vector<std::string> constants;
  for (const auto& [symbol, bytes] : constant_symbols(cubin)) constants.push_back(symbol);
  for (ConstantFacts& each : facts.constants)
    each.symbol = symbol_of(each.symbol, constants).value_or(each.symbol);
}

/// Adds where and how fast the kernel was measured. Omits the time if the machine code differs.
void add_origin(const ExportRequest& request, bool same_code, KernelFacts& facts) {
  const BestFile& saved = *request.saved;
  facts.recorded = saved.head.recorded;
  if (saved.device) {
    facts.device_name = saved.device->device_name;
    facts.driver = saved.device->driver;
  }
  facts.command = saved.head.command;
  facts.fatune = request.fatune;
  const std::optional<Timing>& hot = request.winner->best->hot;
  if (!same_code || !hot) return;
  MeasuredFacts measured;
  measured.hot_us = hot->median_us;
  if (hot->ci95_low_us && hot->ci95_high_us)
    measured.ci95_us = {*hot->ci95_low_us, *hot->ci95_high_us};
  const BestRow& best = *request.winner->best;
  std::optional<Time> ranked_by;
  if (best.in_layer) ranked_by = Time::kInLayer;
  if (const std::optional<Gate>& gate = request.winner->gate) {
    measured.baseline = gate->baseline;
    measured.ratio = gate->ratio.value;
    ranked_by = gate->time;
  }
  if (ranked_by && ranked_by != Time::kHot && timing_of(best, *ranked_by)) {
    measured.time = ranked_by;
    measured.us = timing_of(best, *ranked_by)->median_us;
  }
  facts.measured = std::move(measured);
}

/// Returns the flattened template below a comment with its origin and its launch.
Result<std::string> source_of(const ExportRequest& request, const KernelFacts& facts) {
  FATUNE_TRY(const std::string code,
             flatten(*request.candidate.kernel, macros_of(request.candidate, request.limits)));
  std::string text = fmt::format("// {}.cu - one {} kernel, for {}.\n//\n", request.name,
                                 operation_name(facts.problem), range_text(facts));
  for (const std::string& line : provenance(facts)) text += "// " + line + "\n";
  const CompileRequest compiled = compile_request(request.candidate, request.limits);
  text += "//\n// Options of NVRTC: " + join(code_options(compiled), " ");
  if (compiled.toolkit_headers) text += ", and the include folder of the CUDA toolkit";
  for (const std::string& instance : compiled.instances)
    text += "\n// Name expression of NVRTC: " + instance;
  text += "\n// How to launch it:\n";
  const Json launch = to_json(facts);
  for (const auto& [field, value] : launch.items())
    text += fmt::format("//   {}: {}\n", field, dump(value));
  return text + "\n" + code;
}

}  // namespace

Result<KernelFacts> facts_of(const Candidate& candidate, const DeviceLimits& limits) {
  FATUNE_TRY(const LaunchPlan plan, launch_plan(candidate, limits));
  FATUNE_TRY_STATUS(check_code(candidate.kernel->manifest, plan));
  KernelFacts facts;
  facts.kernel = candidate.kernel->manifest.name;
  facts.config = dump(to_json(candidate.config));
  facts.own_yardstick = candidate.kernel->manifest.is_own_yardstick();
  facts.problem = candidate.problem;
  facts.arch = name(limits.arch);
  facts.compute_major = limits.arch.number / 10;
  facts.compute_minor = limits.arch.number % 10;
  facts.exact_compute = limits.arch.suffix == 'a';
  const Attention* const attention = candidate.problem.attention();
  if (!attention || !attention->layouts.plain() || !optional_tensors(*attention).empty()) {
    const Operation& operation = *candidate.kernel->manifest.operation;
    FATUNE_TRY(const OperationPlan tensors, operation.plan(candidate.problem));
    for (const TensorPlan& tensor : tensors.tensors) facts.tensors.push_back(facts_of(tensor));
    FATUNE_TRY_STATUS(add_runtime_sizes(candidate, limits, facts));
  }
  if (attention) facts.scale = static_cast<double>(softmax_scale(*attention));
  facts.sm_count = limits.sm_count;
  for (const StagePlan& stage : plan.stages)
    facts.stages.emplace_back(stage).arguments = stage.exported_arguments;
  for (const TensorMapPlan& map : plan.tensor_maps)
    facts.tensor_maps.push_back(facts_of(map, candidate.problem));
  facts.scratch = plan.scratch;
  facts.constants = plan.constants;
  return facts;
}

std::vector<std::string> changes_since(const ExportRequest& request,
                                       const std::string& compiler_version,
                                       const std::string& compiler_identity) {
  const std::optional<Environment>& device = request.saved->device;
  const std::optional<Problem>& problem = request.winner->problem;
  const BestRow& winner = *request.winner->best;
  const Kernel& kernel = *request.candidate.kernel;
  std::vector<std::string> changes;
  if (problem && *problem != request.candidate.problem)
    changes.push_back("it was measured for " + describe(*problem));
  if (!winner.text_hash.empty() && winner.text_hash != kernel.text_hash)
    changes.push_back("the text of " + kernel.manifest.name + " has changed since");
  if (device && device->limits.arch != request.limits.arch) {
    changes.push_back(fmt::format("it was measured on {}, not {}", name(device->limits.arch),
                                  name(request.limits.arch)));
  }
  if (device && !device->nvrtc.empty() && device->nvrtc != compiler_version)
    changes.push_back("NVRTC was " + device->nvrtc + " and is " + compiler_version);
  // Without an id the results may belong to another config.
  const bool has_results = winner.hot || why_unverified(winner).empty();
  if (winner.id.empty() && has_results) changes.emplace_back("it has no id to compare with");
  if (!changes.empty() || winner.id.empty()) return changes;
  if (request.saved->head.recorded)
    return {"its run replayed a recording, and no gate has run on this machine code"};
  const std::string id =
      candidate_id(request.candidate, id_options(request.limits.arch, compiler_identity));
  if (id != winner.id) {
    changes.push_back(
        fmt::format("its id was {} and is {}: {} or the compiler has changed since", winner.id, id,
                    winner.text_hash.empty() ? "the text of " + kernel.manifest.name
                                             : std::string("what is hashed besides the text")));
  }
  return changes;
}

Result<ExportedKernel> export_kernel(const ExportRequest& request, CompilePool& pool) {
  FATUNE_TRY_STATUS(check_possible(request));
  ExportedKernel exported;
  exported.name = request.name;
  FATUNE_TRY(exported.facts, facts_of(request.candidate, request.limits));
  FATUNE_TRY_STATUS(pool.check_arch(request.limits.arch));
  const std::string identity = pool.compiler_identity(*request.candidate.kernel);
  const std::vector<std::string> changes =
      changes_since(request, pool.compiler_version(), identity);
  std::vector<std::string> reasons = changes;
  const std::string unverified = why_unverified(*request.winner->best);
  if (!unverified.empty()) reasons.push_back(unverified);
  FATUNE_TRY_STATUS(check_verified(request, reasons));
  FATUNE_TRY(const Compiled compiled, compile(request, pool));
  FATUNE_TRY(exported.cubin, read_file(compiled.cubin_path));
  KernelFacts& facts = exported.facts;
  for (StageFacts& stage : facts.stages) {
    if (const Resources* const logged = compiled.resources_of(stage.entry))
      stage.static_shared_bytes = logged->static_shared_bytes;
  }
  name_symbols(exported.cubin, facts);
  facts.id = candidate_id(request.candidate, id_options(request.limits.arch, identity));
  facts.cubin = {request.name + ".cubin", sha256_hex(exported.cubin),
                 static_cast<std::int64_t>(exported.cubin.size())};
  facts.nvrtc = pool.compiler_version();
  facts.ours = holds_our_text(*request.candidate.kernel);
  facts.verified = reasons.empty();
  add_origin(request, changes.empty(), facts);
  FATUNE_TRY(exported.source, source_of(request, facts));
  return exported;
}

}  // namespace fatune
