// cmd_kernels.cpp: Lists and lints kernels, and counts a space that a T1 file declares.
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/commands/documents.hpp"
#include "cli/options/catalog.hpp"
#include "core/fields.hpp"
#include "core/interrupt.hpp"
#include "core/log.hpp"
#include "core/text.hpp"
#include "model/kernel/runtime_sizes.hpp"
#include "model/space/lint.hpp"
#include "search/datasets/spaces.hpp"
#include "tune/compile/inert.hpp"

namespace fatune::cli {
namespace {

struct KernelsArgs {
  CommonArgs common;
  std::vector<std::string> names;
  std::string arch = "sm_90a";
  bool static_only = false;
  bool all = false;
  CLI::App* lint = nullptr;
  CLI::App* space = nullptr;
  std::string space_file;
};

/// Returns none if no tensor of the operation has the type io.
std::vector<std::string> dtype_names(const Manifest& manifest) {
  const DeclaredOperation* const declared = manifest.operation->declared();
  if (declared != nullptr && !declared->typed) return {};
  std::vector<std::string> dtypes;
  for (Dtype dtype : manifest.dtypes) dtypes.emplace_back(name(dtype));
  return dtypes;
}

std::string arch_text(const Manifest& manifest) {
  std::vector<std::string> only;
  for (const Arch& arch : manifest.only_archs) only.push_back(name(arch));
  if (!only.empty()) return join(only, ",");
  return manifest.min_arch > 0 ? fmt::format("sm_{}+", manifest.min_arch) : "any";
}

/// Operation of a candidate, or the role of another kernel.
std::string role_name(const Manifest& manifest) {
  if (manifest.role == Role::kAttention) return manifest.operation->name;
  if (manifest.role == Role::kReference) return "reference";
  return manifest.role == Role::kBaseline ? "baseline" : "fault";
}

bool is_fault(const KernelRef& kernel) { return kernel->manifest.role == Role::kFault; }

ListedKernel listed(const Manifest& manifest) {
  ListedKernel kernel{manifest.name,
                      manifest.summary,
                      role_name(manifest),
                      arch_text(manifest),
                      dtype_names(manifest),
                      manifest.tuned_by_default,
                      {}};
  for (const Parameter& parameter : manifest.parameters) {
    ListedParameter& row = kernel.parameters.emplace_back();
    row.name = parameter.name;
    for (const Value& value : parameter.values) row.values.push_back(to_json(value));
    row.standard = to_json(parameter.values[parameter.default_position]);
    row.meaning = parameter.meaning;
  }
  return kernel;
}

int list(const std::vector<KernelRef>& kernels, const Settings& settings) {
  KernelsDocument document{settings.head, {}};
  Table table({"kernel", "role", "arch", {"dtypes", 1}, {">parameters", 2}, "what it is"});
  for (const KernelRef& kernel : kernels) {
    const Manifest& manifest = kernel->manifest;
    document.kernels.push_back(listed(manifest));
    table.add({manifest.name, role_name(manifest), arch_text(manifest),
               join(dtype_names(manifest), ","), fmt::to_string(manifest.parameters.size()),
               manifest.summary});
  }
  print(settings.json ? dump_pretty(to_json(document)) : table.text(settings.paint.columns()));
  return kDone;
}

/// Problems for the search of inert parameters. The first problem that the kernel supports is used.
std::vector<Problem> lint_problems(const Manifest& manifest) {
  if (const DeclaredOperation* declared = manifest.operation->declared())
    return declared->typical_problems(manifest.dtypes.front());
  const Attention mission{
      .batch = 4, .heads = 8, .kv_heads = 8, .seq_q = 512, .seq_kv = 512, .head_dim = 64};
  Attention wide = mission;
  wide.head_dim = 128;
  const Attention decode{
      .batch = 8, .heads = 32, .kv_heads = 8, .seq_q = 1, .seq_kv = 32768, .head_dim = 128};
  return {mission, wide, decode};
}

/// Compiles a reference in the two forms in which it also runs.
Status compile_forms(const Space& space, const DeviceLimits& limits, CompilePool& pool,
                     CompileFaults& faults) {
  for (const char* form : {"OUT_F32=1", "ROUND_INTERMEDIATES=1"}) {
    FATUNE_TRY(
        const Compiled compiled,
        pool.compile(compile_request(space.candidate(*space.default_point()), limits, {form})));
    if (!compiled.ok) faults.try_emplace(compiled.problem, CompileFault{form, 1});
  }
  return {};
}

/// Finds configs that cannot be compiled or launched, and inert parameters, in the machine code.
Result<std::vector<LintFinding>> lint_code(const KernelRef& kernel, const DeviceLimits& limits,
                                           CompilePool& pool) {
  std::vector<LintFinding> findings;
  for (const Problem& problem : lint_problems(kernel->manifest)) {
    FATUNE_TRY(const std::string reason, unsupported_reason(kernel->manifest, problem, limits));
    if (!reason.empty()) continue;
    FATUNE_TRY(const Space space, Space::build(kernel, problem, limits));
    if (space.size() == 0) continue;
    CompileFaults faults;
    FATUNE_TRY(const auto effects, parameter_effects(space, limits, pool, 2, faults));
    if (kernel->manifest.role == Role::kReference && space.default_point())
      FATUNE_TRY_STATUS(compile_forms(space, limits, pool, faults));
    for (const auto& [why, fault] : faults) {
      findings.push_back(
          {Severity::kError, kernel->manifest.where,
           fmt::format("{} cannot be run, such as {}: {}{}", counted(fault.configs, "config"),
                       fault.config, why, compile_hint(kernel->manifest, why))});
    }
    for (const ParameterEffect& effect : effects) {
      if (!effect.inert()) continue;
      findings.push_back(
          {Severity::kError, kernel->manifest.where + ": parameter '" + effect.parameter + "'",
           fmt::format("inert: {} configs that differ only in it compile to the same "
                       "program ({})",
                       effect.neighbours, effect.same.front())});
    }
    break;
  }
  return findings;
}

Result<std::vector<LintFinding>> lint_all(const KernelsArgs& args, const Settings& settings,
                                          const std::vector<KernelRef>& kernels) {
  std::vector<LintFinding> findings;
  for (const KernelRef& kernel : kernels) {
    for (LintFinding& finding : lint(*kernel)) findings.push_back(std::move(finding));
  }
  if (args.static_only) return findings;
  FATUNE_TRY(const Arch arch, parse_arch(args.arch));
  FATUNE_TRY(const DeviceLimits limits, typical_limits(arch));
  FATUNE_TRY(CompilePool pool, open_pool(settings));
  for (const KernelRef& kernel : kernels) {
    if (interrupted()) return Error{ErrorKind::kInterrupted, "interrupted"};
    if (is_fault(kernel)) continue;
    log::info("compiling configs of " + kernel->manifest.name);
    FATUNE_TRY(auto found, lint_code(kernel, limits, pool));
    for (LintFinding& finding : found) findings.push_back(std::move(finding));
  }
  return findings;
}

int report_findings(const std::vector<LintFinding>& findings, const std::vector<KernelRef>& kernels,
                    const Settings& settings) {
  std::string text;
  std::size_t errors = 0;
  for (const LintFinding& finding : findings) {
    errors += finding.severity == Severity::kError ? 1 : 0;
    text += fmt::format("{}: {}: {}\n", name(finding.severity), finding.where, finding.message);
  }
  const std::vector<std::string> runtime = runtime_sizes(kernels);
  text += runtime_sizes_text(runtime);
  text += fmt::format("{}, {}, {}", counted(kernels.size(), "kernel"), counted(errors, "error"),
                      counted(findings.size() - errors, "warning"));
  print(settings.json ? dump_pretty(to_json(
                            LintDocument{settings.head, kernels.size(), errors, findings, runtime}))
                      : text);
  return errors == 0 ? kDone : kAnswerIsNo;
}

SpaceDocument space_document(const DocumentHead& head, const Space& space) {
  SpaceDocument document{
      head, space.kernel().manifest.name, space.raw_size(), space.size(), {}, space.ruled_out()};
  for (const Parameter& axis : space.axes()) {
    ListedParameter& parameter = document.parameters.emplace_back();
    parameter.name = axis.name;
    for (const Value& value : axis.values) parameter.values.push_back(to_json(value));
  }
  return document;
}

std::string t1_space_text(const Space& space, std::size_t columns) {
  Table axes({"parameter", "values"});
  for (const Parameter& axis : space.axes()) {
    std::vector<std::string> values;
    for (const Value& value : axis.values) values.push_back(describe(value));
    axes.add({axis.name, join(values, " ")});
  }
  Table rules({">ruled out", "condition"});
  for (const RuledOut& rule : space.ruled_out()) rules.add({fmt::to_string(rule.points), rule.why});
  return fmt::format("{}: {} of {} configs are valid\n\n{}{}", space.kernel().manifest.name,
                     space.size(), space.raw_size(), axes.text(columns),
                     rules.empty() ? "" : "\n" + rules.text(columns));
}

/// Counts the configs that each condition of another tuner's T1 file leaves.
Result<int> show_t1_space(const std::string& path, const Settings& settings) {
  FATUNE_TRY(const Space space, read_t1_space(path));
  print(settings.json ? dump_pretty(to_json(space_document(settings.head, space)))
                      : t1_space_text(space, settings.paint.columns()));
  return kDone;
}

Result<int> kernels(const KernelsArgs& args, const Settings& settings) {
  if (is_typed(*args.space)) return show_t1_space(args.space_file, settings);
  FATUNE_TRY(std::vector<KernelRef> kernels, load_catalog(settings));
  if (!args.names.empty()) {
    FATUNE_TRY(kernels, choose_kernels(kernels, args.names));
  }
  if (!is_typed(*args.lint)) {
    if (!args.all) std::erase_if(kernels, is_fault);
    return list(kernels, settings);
  }
  FATUNE_TRY(const auto findings, lint_all(args, settings, kernels));
  return report_findings(findings, kernels, settings);
}

OptionTable list_table(KernelsArgs& a) {
  const OptionTable own = {
      {"List", {{"--all", &a.all, "", "List the fault kernels too, which misbehave on purpose"}}}};
  return tables({own, common_table(a.common)});
}

OptionTable lint_table(KernelsArgs& a) {
  const OptionTable own = {{"Lint",
                            {{"KERNEL", &a.names, "", "Check these kernels [all]"},
                             {"--arch", &a.arch, "sm_XX", "Compile for this architecture"},
                             {"--static-only", &a.static_only, "",
                              "Skip compilation, so that inert parameters are not found"}}}};
  return tables({own, common_table(a.common)});
}

OptionTable space_table(KernelsArgs& a) {
  const OptionTable own = {
      {"Space", {required({"FILE", &a.space_file, "", "Read this T1 input file"})}}};
  return tables({own, common_table(a.common)});
}

}  // namespace

Runner setup_kernels(CLI::App& command) {
  auto args = std::make_shared<KernelsArgs>();
  add_options(command, list_table(*args));
  add_example(command, "fatune kernels\n  fatune kernels lint fa_mma");
  args->lint = add_command(command, "lint",
                           "Check manifests, templates, and that every parameter has an effect",
                           lint_table(*args));
  args->space = add_command(command, "space",
                            "Count the configs of a space that a T1 file of another tuner declares",
                            space_table(*args));
  return [args](const Invocation& invocation) {
    return with_settings(args->common, invocation,
                         [&](const Settings& settings) { return kernels(*args, settings); });
  };
}

}  // namespace fatune::cli
