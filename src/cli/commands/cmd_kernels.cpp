// cmd_kernels.cpp - lists kernels; lints manifests, templates and parameters that do nothing.
#include <memory>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/commands/documents.hpp"
#include "cli/commands/setup.hpp"
#include "cli/commands/t1_space.hpp"
#include "cli/exit_code.hpp"
#include "cli/options/catalog.hpp"
#include "cli/options/services.hpp"
#include "cli/output.hpp"
#include "core/fields.hpp"
#include "core/text.hpp"
#include "model/space/lint.hpp"
#include "out/text/table.hpp"
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

std::string join_names(const Manifest& manifest) {
  std::vector<std::string> dtypes;
  for (Dtype dtype : manifest.dtypes) dtypes.emplace_back(name(dtype));
  return join(dtypes, ",");
}

std::string arch_text(const Manifest& manifest) {
  std::vector<std::string> only;
  for (const Arch& arch : manifest.only_archs) only.push_back(name(arch));
  if (!only.empty()) return join(only, ",");
  return manifest.min_arch > 0 ? "sm_" + std::to_string(manifest.min_arch) + "+" : "any";
}

/// Of a candidate what it computes, of others what they are for.
std::string_view role_name(const Manifest& manifest) {
  switch (manifest.role) {
    case Role::kReference:
      return "reference";
    case Role::kBaseline:
      return "baseline";
    case Role::kFault:
      return "fault";
    case Role::kAttention:
      return operation_name(manifest.operation);
  }
  return "";
}

bool is_fault(const KernelRef& kernel) { return kernel->manifest.role == Role::kFault; }

ListedKernel listed(const Manifest& manifest) {
  ListedKernel kernel{manifest.name,
                      manifest.summary,
                      std::string(role_name(manifest)),
                      arch_text(manifest),
                      split(join_names(manifest), ','),
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

int list(const KernelsArgs& args, const std::vector<KernelRef>& kernels, const Paint& paint) {
  if (args.common.json) {
    KernelsDocument document{document_head(), {}};
    for (const KernelRef& kernel : kernels) document.kernels.push_back(listed(kernel->manifest));
    print_json(to_json(document));
    return kDone;
  }
  Table table({{"kernel"},
               {"role"},
               {"arch"},
               {"dtypes"},
               {"parameters", Align::kRight, 1},
               {"what it is"}});
  for (const KernelRef& kernel : kernels) {
    const Manifest& manifest = kernel->manifest;
    table.add({manifest.name, std::string(role_name(manifest)), arch_text(manifest),
               join_names(manifest), std::to_string(manifest.parameters.size()), manifest.summary});
  }
  print(table.text(paint.columns()));
  return kDone;
}

/// Where inert parameters are looked for: the first of these that the kernel supports.
std::vector<Problem> lint_problems(const Manifest& manifest) {
  if (manifest.operation) return typical_problems(*manifest.operation, manifest.dtypes.front());
  Problem mission{
      .batch = 4, .heads = 8, .kv_heads = 8, .seq_q = 512, .seq_kv = 512, .head_dim = 64};
  Problem wide = mission;
  wide.head_dim = 128;
  const Problem decode{
      .batch = 8, .heads = 32, .kv_heads = 8, .seq_q = 1, .seq_kv = 32768, .head_dim = 128};
  return {mission, wide, decode};
}

/// Machine-code findings of one kernel.
Result<std::vector<LintFinding>> lint_code(const KernelRef& kernel, const DeviceLimits& limits,
                                           CompilePool& pool) {
  std::vector<LintFinding> findings;
  for (const Problem& problem : lint_problems(kernel->manifest)) {
    FATUNE_TRY(const std::string reason, unsupported_reason(kernel->manifest, problem, limits));
    if (!reason.empty()) continue;
    FATUNE_TRY(const Space space, Space::build(kernel, problem, limits));
    if (space.size() == 0) continue;
    FATUNE_TRY(const auto effects, parameter_effects(space, limits, pool, 2));
    for (const ParameterEffect& effect : effects) {
      if (!effect.inert()) continue;
      findings.push_back({Severity::kError,
                          kernel->manifest.where + ": parameter '" + effect.parameter + "'",
                          "inert: " + std::to_string(effect.neighbours) +
                              " configs that differ only in it compile to the same program (" +
                              effect.same.front() + ")"});
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
    if (is_fault(kernel)) continue;
    FATUNE_TRY(auto found, lint_code(kernel, limits, pool));
    for (LintFinding& finding : found) findings.push_back(std::move(finding));
  }
  return findings;
}

int report_findings(const KernelsArgs& args, const std::vector<LintFinding>& findings,
                    std::size_t kernels) {
  std::size_t errors = 0;
  for (const LintFinding& finding : findings) {
    errors += finding.severity == Severity::kError ? 1 : 0;
    if (!args.common.json)
      print(std::string(name(finding.severity)) + ": " + finding.where + ": " + finding.message);
  }
  if (args.common.json) {
    print_json(to_json(LintDocument{document_head(), kernels, errors, findings}));
  } else {
    print(std::to_string(kernels) + " kernels, " + std::to_string(errors) + " errors, " +
          std::to_string(findings.size() - errors) + " warnings");
  }
  return errors == 0 ? kDone : kAnswerIsNo;
}

int run(const KernelsArgs& args) {
  auto settings = resolve(args.common);
  if (!settings) return fail(settings.error());
  if (args.space->parsed()) {
    const auto shown = show_t1_space(args.space_file, *settings);
    return shown ? *shown : fail(shown.error());
  }
  auto catalog = load_catalog(*settings);
  if (!catalog) return fail(catalog.error());
  std::vector<KernelRef> kernels = *catalog;
  if (!args.names.empty()) {
    auto chosen = choose_kernels(*catalog, args.names);
    if (!chosen) return fail(chosen.error());
    kernels = *chosen;
  }
  if (!args.lint->parsed()) {
    if (!args.all) std::erase_if(kernels, is_fault);
    return list(args, kernels, settings->paint);
  }
  auto findings = lint_all(args, *settings, kernels);
  if (!findings) return fail(findings.error());
  return report_findings(args, *findings, kernels.size());
}

}  // namespace

Runner setup_kernels(CLI::App& command) {
  auto args = std::make_shared<KernelsArgs>();
  const OptionTable common = common_table(args->common);
  add_options(command, tables({{{"List",
                                 {{.flags = "--all",
                                   .value = &args->all,
                                   .help = "Also the fixtures that misbehave on purpose"}}}},
                               common}));
  add_example(command, "fatune kernels\n  fatune kernels lint fa_mma");
  args->lint = command.add_subcommand(
      "lint", "Check manifests, templates, and that every parameter does something");
  add_options(
      *args->lint,
      tables({{{"Lint",
                {{.flags = "KERNEL", .value = &args->names, .help = "Kernels to check [all]"},
                 {.flags = "--arch",
                  .value = &args->arch,
                  .type = "sm_XX",
                  .help = "Architecture to compile for"},
                 {.flags = "--static-only",
                  .value = &args->static_only,
                  .help = "Do not compile, so inert parameters are not found"}}}},
              common}));
  args->space = command.add_subcommand(
      "space", "Count the configs of a space that a T1 file of another tuner declares");
  add_options(*args->space, tables({{{"Space",
                                      {{.flags = "FILE",
                                        .value = &args->space_file,
                                        .help = "T1 input file",
                                        .required = true}}}},
                                    common}));
  return [args] { return run(*args); };
}

}  // namespace fatune::cli
