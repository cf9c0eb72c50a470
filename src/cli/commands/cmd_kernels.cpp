// cmd_kernels.cpp - lists kernels; lints manifests, templates and parameters that do nothing.
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/commands/documents.hpp"
#include "cli/options/catalog.hpp"
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
  return manifest.min_arch > 0 ? fmt::format("sm_{}+", manifest.min_arch) : "any";
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
      return manifest.operation->name;
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
               {"dtypes", Align::kLeft, 1},
               {"parameters", Align::kRight, 2},
               {"what it is"}});
  for (const KernelRef& kernel : kernels) {
    const Manifest& manifest = kernel->manifest;
    table.add({manifest.name, std::string(role_name(manifest)), arch_text(manifest),
               join_names(manifest), fmt::to_string(manifest.parameters.size()), manifest.summary});
  }
  print(table.text(paint.columns()));
  return kDone;
}

/// Where inert parameters are looked for: the first of these that the kernel supports.
std::vector<Problem> lint_problems(const Manifest& manifest) {
  if (const DeclaredOperation* declared = manifest.operation->declared())
    return declared->typical_problems(manifest.dtypes.front());
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
    print(fmt::format("{} kernels, {} errors, {} warnings", kernels, errors,
                      findings.size() - errors));
  }
  return errors == 0 ? kDone : kAnswerIsNo;
}

Result<int> kernels(const KernelsArgs& args, const Settings& settings) {
  if (args.space->parsed()) return show_t1_space(args.space_file, settings);
  FATUNE_TRY(std::vector<KernelRef> kernels, load_catalog(settings));
  if (!args.names.empty()) {
    FATUNE_TRY(kernels, choose_kernels(kernels, args.names));
  }
  if (!args.lint->parsed()) {
    if (!args.all) std::erase_if(kernels, is_fault);
    return list(args, kernels, settings.paint);
  }
  FATUNE_TRY(const auto findings, lint_all(args, settings, kernels));
  return report_findings(args, findings, kernels.size());
}

OptionTable list_table(KernelsArgs& a) {
  const OptionTable own = {
      {"List", {{"--all", &a.all, "", "Also the fixtures that misbehave on purpose"}}}};
  return tables({own, common_table(a.common)});
}

OptionTable lint_table(KernelsArgs& a) {
  const OptionTable own = {{"Lint",
                            {{"KERNEL", &a.names, "", "Kernels to check [all]"},
                             {"--arch", &a.arch, "sm_XX", "Architecture to compile for"},
                             {"--static-only", &a.static_only, "",
                              "Do not compile, so inert parameters are not found"}}}};
  return tables({own, common_table(a.common)});
}

OptionTable space_table(KernelsArgs& a) {
  const OptionTable own = {
      {"Space",
       {{.flags = "FILE", .value = &a.space_file, .help = "T1 input file", .required = true}}}};
  return tables({own, common_table(a.common)});
}

}  // namespace

Runner setup_kernels(CLI::App& command) {
  auto args = std::make_shared<KernelsArgs>();
  add_options(command, list_table(*args));
  add_example(command, "fatune kernels\n  fatune kernels lint fa_mma");
  args->lint = command.add_subcommand(
      "lint", "Check manifests, templates, and that every parameter does something");
  add_options(*args->lint, lint_table(*args));
  args->space = command.add_subcommand(
      "space", "Count the configs of a space that a T1 file of another tuner declares");
  add_options(*args->space, space_table(*args));
  return [args] {
    return with_settings(args->common,
                         [&](const Settings& settings) { return kernels(*args, settings); });
  };
}

}  // namespace fatune::cli
