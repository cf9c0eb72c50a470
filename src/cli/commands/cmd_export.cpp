// cmd_export.cpp: Compiles the configs of best.json files and writes them in the requested formats.
#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/commands/documents.hpp"
#include "cli/commands/export_run.hpp"
#include "cli/options/catalog.hpp"
#include "cli/options/problems.hpp"
#include "core/fields.hpp"
#include "core/log.hpp"
#include "core/text.hpp"
#include "export/export_kernel.hpp"
#include "export/exported_kernel.hpp"
#include "export/formats.hpp"
#include "model/kernel/runtime_sizes.hpp"
#include "tune/sweep/best.hpp"

namespace fatune::cli {
namespace {

struct ExportArgs {
  CommonArgs common;
  ProblemArgs problem;
  std::vector<std::string> files;
  std::vector<std::string> formats = {"cubin"};
  std::string out = ".";
  std::string name;
  std::string arch;
  bool unverified = false;
};

bool knows_device(const BestFile& saved, const Arch& arch) {
  return saved.device && saved.device->limits.sm_count > 0 && saved.device->limits.arch == arch;
}

/// Logs a guessed number of multiprocessors, because it is compiled into the kernels.
void note_guesses(const std::vector<ExportRequest>& requests) {
  for (const ExportRequest& request : requests) {
    if (knows_device(*request.saved, request.limits.arch)) continue;
    log::info(fmt::format("compiled for {} multiprocessors, as a typical {} has",
                          request.limits.sm_count, name(request.limits.arch)));
    return;
  }
}

/// Limits of the measured device, or of a typical device of --arch.
Result<DeviceLimits> limits_for(const BestFile& saved, const std::string& wanted) {
  if (wanted.empty() && !saved.device)
    return usage_error(saved.where +
                       ": names no device to compile for; name one with --arch, such as sm_90a");
  const auto arch = parse_arch(wanted.empty() ? name(saved.device->limits.arch) : wanted);
  if (!arch) {
    return usage_error((wanted.empty() ? saved.where + ": field 'device.arch'" : "--arch") + ": " +
                       arch.error().message);
  }
  FATUNE_TRY(DeviceLimits limits, typical_limits(*arch));
  if (knows_device(saved, *arch)) limits.sm_count = saved.device->limits.sm_count;
  return limits;
}

constexpr const char* kHeader = "header";

/// Name of an exported kernel. A header's functions are called by people, who want its operation
/// and not its kernel.
std::string default_name(const ExportArgs& args, const Candidate& candidate) {
  const bool called = args.formats == std::vector<std::string>{kHeader};
  const bool attention = called && !candidate.problem.custom();
  Problem problem = candidate.problem;
  for (const std::string& size : runtime_sizes(*candidate.kernel->manifest.operation))
    std::erase_if(problem.as_custom().sizes,
                  [&](const NamedSize& each) { return each.name == size; });
  return export_name(attention ? "attention" : candidate.kernel->manifest.name, problem);
}

Result<std::vector<ExportRequest>> requests_of(const ExportArgs& args,
                                               const std::vector<BestFile>& files,
                                               const Catalog& catalog) {
  std::vector<ExportRequest> requests;
  std::vector<std::string> names;
  for (const BestFile& saved : files) {
    const std::vector<SavedConfig> choices = configs_of(saved);
    FATUNE_TRY(const auto uses, config_uses(choices, args.problem, saved.where, catalog));
    FATUNE_TRY(const DeviceLimits limits, limits_for(saved, args.arch));
    for (const auto& [position, problem] : uses) {
      FATUNE_TRY(Implementation candidate,
                 chosen_of(choices[position], problem, saved.where, catalog));
      names.push_back(default_name(args, candidate.candidate));
      requests.push_back(
          {"", std::move(candidate.candidate), limits, &saved, &saved.problems[position],
           args.unverified ? Unverified::kMark : Unverified::kRefuse, FATUNE_VERSION});
    }
  }
  if (!args.name.empty()) {
    FATUNE_TRY_STATUS(check_export_name(args.name, "--name"));
    if (names.size() > 1)
      return usage_error(fmt::format(
          "--name takes one kernel, but {} are exported; choose one with --shape", names.size()));
    names = {args.name};
  }
  make_distinct(names);
  for (std::size_t i = 0; i < names.size(); ++i) requests[i].name = names[i];
  return requests;
}

std::string summary(const ExportedKernel& kernel) {
  const KernelFacts& facts = kernel.facts;
  std::string text =
      fmt::format("{} for {} on {}, ", facts.kernel, describe(facts.problem), facts.arch);
  text += facts.verified ? "verified" : "NOT VERIFIED";
  if (facts.recorded) text += ", recorded";
  const std::string measured = describe_measured(facts);
  if (!measured.empty()) text += ": " + measured + " on " + facts.device_name;
  return text + "\n";
}

ExportDocument document_of(const DocumentHead& head, const std::vector<ExportedKernel>& kernels,
                           const std::vector<std::filesystem::path>& files) {
  ExportDocument document{head, {}, {}};
  for (const auto& file : files) document.files.push_back(file.string());
  for (const ExportedKernel& kernel : kernels) {
    document.kernels.push_back({kernel.name, kernel.facts});
    document.head.recorded = document.head.recorded || kernel.facts.recorded;
  }
  return document;
}

std::string written_text(const ExportArgs& args, const std::vector<ExportedKernel>& kernels,
                         const std::vector<std::filesystem::path>& files) {
  std::string text;
  for (const ExportedKernel& kernel : kernels) text += summary(kernel);
  for (const auto& file : files) text += "wrote " + file.string() + "\n";
  if (args.name.empty() && kernels.size() == 1 && std::ranges::count(args.formats, kHeader) > 0)
    text += "its functions begin with " + kernels.front().name + "_; --name chooses another name\n";
  return text;
}

struct Exported {
  std::vector<ExportedKernel> kernels;
  std::vector<std::filesystem::path> files;
};

Result<Exported> write_exports(const ExportArgs& args, const Catalog& catalog,
                               const Settings& settings) {
  std::vector<const ExportFormat*> formats;
  for (const std::string& each : args.formats) {
    FATUNE_TRY(const ExportFormat* format, find_format(each));
    const bool fresh = std::find(formats.begin(), formats.end(), format) == formats.end();
    if (fresh) formats.push_back(format);
  }
  if (args.files.empty())
    return usage_error("choose what to export: --config FILE, a best.json or a run folder");
  std::vector<BestFile> saved;
  for (const std::string& file : args.files) {
    FATUNE_TRY(BestFile best, load_best_file(file));
    saved.push_back(std::move(best));
  }
  FATUNE_TRY(const auto requests, requests_of(args, saved, catalog));
  FATUNE_TRY(CompilePool pool, open_pool(settings));
  Exported exported;
  for (const ExportRequest& request : requests) {
    FATUNE_TRY(ExportedKernel kernel, export_kernel(request, pool));
    exported.kernels.push_back(std::move(kernel));
  }
  note_guesses(requests);
  FATUNE_TRY_STATUS(make_target(formats, args.out));
  for (const ExportFormat* format : formats) {
    FATUNE_TRY(const auto written, format->write(exported.kernels, args.out));
    exported.files.insert(exported.files.end(), written.begin(), written.end());
  }
  return exported;
}

Result<int> run_export(const ExportArgs& args, const Settings& settings) {
  FATUNE_TRY(const auto catalog, load_catalog(settings));
  FATUNE_TRY(const Exported exported, write_exports(args, catalog, settings));
  const auto& [kernels, files] = exported;
  print(settings.json ? dump_pretty(to_json(document_of(settings.head, kernels, files)))
                      : written_text(args, kernels, files));
  return kDone;
}

std::string formats_help() {
  std::string text = "Write these formats, comma-separated";
  for (const ExportFormat& format : export_formats())
    text += fmt::format("\n{}: {}", format.name, format.summary);
  return text;
}

OptionTable export_table(ExportArgs& a) {
  const OptionTable own = {
      {"Export",
       {{"--config,RUN", &a.files, "FILE",
         "Export the configs of best.json files, run folders, or "
         "{\"kernel\":NAME,\"config\":{...}}"},
        comma_separated({"--to", &a.formats, "FORMAT,...", formats_help()}),
        {"-o,--out", &a.out, "DIR",
         "Write into this folder, or with --to torch into this .py file"},
        {"--name", &a.name, "NAME", "Name the files and functions of a single kernel"},
        {"--arch", &a.arch, "sm_XX", "Compile for this architecture [that of the measured device]"},
        {"--unverified", &a.unverified, "",
         "Also export configs that no gate has checked; every file says so"}}}};
  return tables({own, problem_table(a.problem), common_table(a.common)});
}

}  // namespace

Result<std::vector<std::filesystem::path>> export_run(const std::filesystem::path& run,
                                                      const AskExport& asked,
                                                      const std::vector<KernelRef>& catalog,
                                                      const Settings& settings) {
  ExportArgs args;
  args.files = {run.string()};
  args.formats = {asked.format};
  args.out = (run / "export").string();
  args.unverified = asked.unverified;
  FATUNE_TRY(Exported exported, write_exports(args, catalog, settings));
  return std::move(exported.files);
}

Runner setup_export(CLI::App& command) {
  return make_runner(command, export_table, "fatune export results/h200/mission --to cubin -o out",
                     run_export);
}

}  // namespace fatune::cli
