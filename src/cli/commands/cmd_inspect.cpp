// cmd_inspect.cpp: Prints a kernel's space for a problem, or feasibility, launch and resources of a
// config.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/commands/documents.hpp"
#include "cli/commands/tools.hpp"
#include "cli/options/catalog.hpp"
#include "cli/options/problems.hpp"
#include "core/fields.hpp"
#include "core/text.hpp"
#include "model/kernel/runtime_sizes.hpp"
#include "model/space/rules.hpp"
#include "report/text/kernel_text.hpp"
#include "search/strategies/importance.hpp"
#include "tune/compile/inert.hpp"
#include "tune/evaluate/device_evaluator.hpp"
#include "tune/evaluate/forecast.hpp"
#include "worker/protocol/machine_code.hpp"

namespace fatune::cli {
namespace {

struct InspectArgs {
  CommonArgs common;
  ChoiceArgs choice;
  std::string arch;
  bool inert = false;
  bool census = false;
  std::string run;
  bool importance = false;
};

/// Inspected kernel and problem, and a config if the user gave one.
struct Subject {
  KernelRef kernel;
  Problem problem;
  std::optional<Config> config;
  DeviceLimits limits;
};

Result<DeviceLimits> inspected_limits(const std::string& arch) {
  if (!arch.empty()) {
    FATUNE_TRY(const Arch target, parse_arch(arch));
    return typical_limits(target);
  }
  auto devices = list_devices();
  if (devices && !devices->empty()) return devices->front().limits;
  return typical_limits(Arch{90, 'a'});
}

Result<Subject> resolve_subject(const InspectArgs& args, const Settings& settings) {
  FATUNE_TRY(const auto catalog, load_catalog(settings));
  FATUNE_TRY(auto chosen, resolve_choice(args.choice, catalog));
  if (chosen.size() > 1) {
    return usage_error(fmt::format(
        "inspect shows one problem, but {} are named; choose one with --shape", chosen.size()));
  }
  FATUNE_TRY(const DeviceLimits limits, inspected_limits(args.arch));
  Candidate& first = chosen.front().candidate;
  Subject subject{first.kernel, first.problem, std::nullopt, limits};
  const bool of_config = !args.choice.config.empty() || args.census;
  if (of_config) subject.config = std::move(first.config);
  return subject;
}

SpaceSummary summary_of(const Space& space) {
  SpaceSummary summary{
      space.raw_size(), space.size(), space.kernel().manifest.terms, space.ruled_out(), {}};
  if (auto point = space.default_point()) summary.standard = to_json(space.config(*point));
  return summary;
}

/// Members that every document about a kernel has.
InspectDocument document_of(const Subject& subject, const Settings& settings) {
  InspectDocument document;
  document.head = settings.head;
  document.kernel = subject.kernel->manifest.name;
  document.arch = name(subject.limits.arch);
  document.problem = subject.problem;
  document.runtime_sizes = runtime_sizes(*subject.kernel->manifest.operation);
  if (subject.config) document.config = to_json(*subject.config);
  return document;
}

Result<int> inspect_space(const InspectArgs& args, const Settings& settings,
                          const Subject& subject) {
  FATUNE_TRY(const std::string reason,
             unsupported_reason(subject.kernel->manifest, subject.problem, subject.limits));
  InspectDocument document = document_of(subject, settings);
  document.supported = reason.empty();
  document.reason = reason;
  if (!reason.empty()) {
    print(settings.json ? dump_pretty(to_json(document))
                        : settings.paint.fitted(subject.kernel->manifest.name + " cannot do " +
                                                describe(subject.problem) + ": " + reason));
    return kAnswerIsNo;
  }
  FATUNE_TRY(const Space space, Space::build(subject.kernel, subject.problem, subject.limits));
  if (args.inert && space.size() > 0) {
    FATUNE_TRY(CompilePool pool, open_pool(settings));
    CompileFaults faults;
    FATUNE_TRY(document.parameters, parameter_effects(space, subject.limits, pool, 3, faults));
  }
  document.space = summary_of(space);
  if (settings.json) {
    print(dump_pretty(to_json(document)));
  } else {
    print(runtime_sizes_text(document.runtime_sizes) +
          settings.paint.fitted(fmt::format("{} at {} on {}: {}", document.kernel,
                                            describe(subject.problem), document.arch,
                                            space_text(space, settings.paint))));
    if (args.inert) print("\n" + effects_text(document.parameters, settings.paint));
  }
  return space.size() > 0 ? kDone : kAnswerIsNo;
}

void add_compiled(const Subject& subject, const LaunchPlan& plan, const Compiled& compiled,
                  InspectDocument& document) {
  document.launch = plan;
  document.forecast = forecast(subject.problem, plan, subject.limits, &compiled);
  document.compiled = compiled.ok;
  document.compile_problem = compiled.problem;
  document.cubin = compiled.cubin_hash;
  for (const auto& [entry, resources] : compiled.entries)
    document.entries.push_back({entry, resources});
  for (EntryResources& each : document.entries) {
    for (const StageForecast& stage : document.forecast->stages) {
      if (stage.entry != each.entry) continue;
      each.resources.threads = static_cast<int>(stage.threads);
      each.resources.blocks_per_sm = static_cast<int>(stage.resident_blocks);
    }
    for (const StagePlan& stage : plan.stages) {
      if (stage.entry == each.entry) each.resources.dynamic_shared_bytes = stage.shared_bytes;
    }
  }
}

Result<int> inspect_config(const InspectArgs& args, const Settings& settings,
                           const Subject& subject) {
  const Candidate candidate{subject.kernel, *subject.config, subject.problem};
  FATUNE_TRY(const std::string reason, infeasible_reason(candidate, subject.limits));
  const Paint& paint = settings.paint;
  InspectDocument document = document_of(subject, settings);
  document.feasible = reason.empty();
  document.reason = reason;
  if (!reason.empty()) {
    print(settings.json ? dump_pretty(to_json(document))
                        : paint.fitted("infeasible on " + document.arch + ": " + reason));
    return kAnswerIsNo;
  }
  FATUNE_TRY(const LaunchPlan plan, launch_plan(candidate, subject.limits));
  FATUNE_TRY(CompilePool pool, open_pool(settings));
  FATUNE_TRY(Compiled done, pool.compile(compile_request(candidate, subject.limits)));
  const Compiled compiled = checked(std::move(done), plan);
  if (args.census && compiled.ok) document.census = census_of(compiled.cubin_path, settings);
  add_compiled(subject, plan, compiled, document);
  if (settings.json) {
    print(dump_pretty(to_json(document)));
  } else {
    print(paint.fitted(fmt::format("{} {}\nat {} on {}\n{}", document.kernel,
                                   describe(*subject.config), describe(subject.problem),
                                   document.arch, runtime_sizes_text(document.runtime_sizes))) +
          "\n" + launch_text(plan, paint) + "\n" + forecast_text(*document.forecast, paint));
    const std::string hopeless = compiled.ok ? hopeless_reason(compiled) : "";
    print(compiled.ok ? "\n" + resources_text(compiled, paint)
                      : "\ncompile_error: " + compiled.problem + "\n" + compiled.log);
    if (!hopeless.empty()) print(paint.fitted("a search leaves it out: " + hopeless));
    if (document.census) print("\n" + census_text(*document.census, paint));
  }
  return compiled.ok ? kDone : kAnswerIsNo;
}

Result<std::vector<ExplainedRecording>> explained(const std::filesystem::path& path) {
  FATUNE_TRY(const std::vector<Recording> recordings, read_recordings(path));
  std::vector<ExplainedRecording> explained;
  for (const Recording& each : recordings) {
    explained.push_back({each.name, each.problem, each.device, each.objective, each.own_problem,
                         importance_of(each)});
  }
  return explained;
}

Result<int> inspect_run(const InspectArgs& args, const Settings& settings) {
  if (args.run.empty()) {
    return usage_error("--importance: name a run's folder, a journal or another tuner's results");
  }
  if (!args.importance) {
    return usage_error("'" + args.run +
                       "' requires --importance; name a config with --config FILE");
  }
  if (settings.json) {
    InspectDocument document;
    document.head = settings.head;
    FATUNE_TRY(document.recordings, explained(args.run));
    print(dump_pretty(to_json(document)));
  } else {
    FATUNE_TRY(const std::string text, inspect_importance(args.run, settings.paint));
    print(text);
  }
  return kDone;
}

Result<int> inspect(const InspectArgs& args, const Settings& settings) {
  if (args.importance || !args.run.empty()) return inspect_run(args, settings);
  FATUNE_TRY(const Subject subject, resolve_subject(args, settings));
  return subject.config ? inspect_config(args, settings, subject)
                        : inspect_space(args, settings, subject);
}

OptionTable inspect_table(InspectArgs& a) {
  const OptionTable run = {
      {"Run",
       {{"RUN", &a.run, "",
         "With --importance, read this run folder, journal or another tuner's results"},
        {"--importance", &a.importance, "",
         "Show how much of the times in RUN each parameter and each pair explains"}}}};
  const OptionTable code = {
      {"Machine code",
       {{"--arch", &a.arch, "sm_XX", "Use this architecture instead of the device's"},
        {"--inert", &a.inert, "", "Compile neighbours and show which parameters change nothing"},
        {"--census", &a.census, "",
         "Disassemble a config and count its instructions; with --kernel, the default config"}}}};
  return tables({run, choice_table(a.choice), code, common_table(a.common)});
}

}  // namespace

Runner setup_inspect(CLI::App& command) {
  return make_runner(command, inspect_table, "fatune inspect --kernel fa_mma --shape 4,8,512,64",
                     inspect);
}

}  // namespace fatune::cli
