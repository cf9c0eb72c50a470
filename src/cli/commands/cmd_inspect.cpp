// cmd_inspect.cpp - prints a kernel's space for a problem, or one config's fate, launch and
// resources.
#include <memory>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/commands/cubin_census.hpp"
#include "cli/commands/documents.hpp"
#include "cli/commands/setup.hpp"
#include "cli/exit_code.hpp"
#include "cli/options/catalog.hpp"
#include "cli/options/chosen.hpp"
#include "cli/options/services.hpp"
#include "cli/output.hpp"
#include "core/fields.hpp"
#include "core/text.hpp"
#include "model/space/feasibility.hpp"
#include "out/text/importance_text.hpp"
#include "out/text/table.hpp"
#include "search/replay/recording_importance.hpp"
#include "tune/compile/inert.hpp"
#include "tune/evaluate/device_evaluator.hpp"
#include "tune/evaluate/forecast.hpp"

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

/// What is inspected: a kernel and problem, and one config where the user gave one.
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

/// Which parameters are a choice here: for those with a 'when', some valid config must have another
/// value than the one of elsewhere.
std::vector<bool> choices_of(const Space& space) {
  std::vector<bool> choices;
  for (const Parameter& axis : space.axes()) choices.push_back(axis.when.empty());
  for (std::uint64_t index = 0; index < space.size(); ++index) {
    const Point point = space.point(index);
    for (std::size_t i = 0; i < choices.size(); ++i) {
      if (point[i] != space.axes()[i].otherwise_position) choices[i] = true;
    }
  }
  return choices;
}

std::string space_text(const Space& space, const Paint& paint) {
  std::string text = std::to_string(space.size()) + " of " + std::to_string(space.raw_size()) +
                     " configs are valid\n\n";
  Table axes({{"parameter"}, {"values"}, {"default"}, {"meaning"}});
  const std::vector<bool> choices = choices_of(space);
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (!choices[i]) continue;
    const Parameter& axis = space.axes()[i];
    std::vector<std::string> values;
    for (const Value& value : axis.values) values.push_back(describe(value));
    axes.add(
        {axis.name, join(values, " "), describe(axis.values[axis.default_position]), axis.meaning});
  }
  text += axes.text(paint.columns());
  for (std::size_t i = 0; i < choices.size(); ++i) {
    const Parameter& axis = space.axes()[i];
    if (!choices[i])
      text += "no choice here: " + axis.name + "=" +
              describe(axis.values[axis.otherwise_position]) + "\n";
  }
  Table terms({{"term"}, {"value"}, {"meaning"}});
  for (const Term& term : space.kernel().manifest.terms) {
    terms.add({term.name, term.value, term.meaning});
  }
  if (!terms.empty()) text += "\n" + terms.text(paint.columns());
  Table rules({{"ruled out", Align::kRight}, {"must hold"}, {"why"}});
  for (const RuledOut& rule : space.ruled_out()) {
    if (rule.points > 0) rules.add({std::to_string(rule.points), rule.rule, rule.why});
  }
  return rules.empty() ? text : text + "\n" + rules.text(paint.columns());
}

Table effects_table(const std::vector<ParameterEffect>& effects) {
  Table table({{"parameter"},
               {"tried", Align::kRight},
               {"changed the program", Align::kRight},
               {"without effect"}});
  for (const ParameterEffect& effect : effects) {
    table.add({effect.parameter + (effect.inert() ? " (inert)" : ""),
               std::to_string(effect.neighbours), std::to_string(effect.changed),
               join(effect.same, "; ")});
  }
  return table;
}

/// What every document about a kernel begins with.
InspectDocument document_of(const Subject& subject) {
  InspectDocument document;
  document.head = document_head();
  document.kernel = subject.kernel->manifest.name;
  document.arch = name(subject.limits.arch);
  document.problem = subject.problem;
  if (subject.config) document.config = to_json(*subject.config);
  return document;
}

Result<int> inspect_space(const InspectArgs& args, const Settings& settings,
                          const Subject& subject) {
  FATUNE_TRY(const std::string reason,
             unsupported_reason(subject.kernel->manifest, subject.problem, subject.limits));
  if (!reason.empty()) {
    if (args.common.json) {
      InspectDocument document = document_of(subject);
      document.supported = false;
      document.reason = reason;
      print_json(to_json(document));
    } else {
      print(subject.kernel->manifest.name + " cannot do " + describe(subject.problem) + ": " +
            reason);
    }
    return kAnswerIsNo;
  }
  FATUNE_TRY(const Space space, Space::build(subject.kernel, subject.problem, subject.limits));
  std::vector<ParameterEffect> effects;
  if (args.inert && space.size() > 0) {
    FATUNE_TRY(CompilePool pool, open_pool(settings));
    FATUNE_TRY(effects, parameter_effects(space, subject.limits, pool, 3));
  }
  if (args.common.json) {
    InspectDocument document = document_of(subject);
    document.supported = true;
    document.space = summary_of(space);
    document.parameters = effects;
    print_json(to_json(document));
  } else {
    print(subject.kernel->manifest.name + " at " + describe(subject.problem) + " on " +
          name(subject.limits.arch) + ": " + space_text(space, settings.paint));
    if (args.inert) print("\n" + effects_table(effects).text());
  }
  return space.size() > 0 ? kDone : kAnswerIsNo;
}

std::string resources_text(const Compiled& compiled) {
  Table table({{"entry"},
               {"registers", Align::kRight},
               {"static shared", Align::kRight},
               {"spill stores", Align::kRight},
               {"spill loads", Align::kRight},
               {"stack", Align::kRight}});
  for (const auto& [entry, r] : compiled.entries) {
    table.add({entry, std::to_string(r.registers), std::to_string(r.static_shared_bytes),
               std::to_string(r.spill_store_bytes), std::to_string(r.spill_load_bytes),
               std::to_string(r.stack_bytes)});
  }
  std::string text = table.text();
  for (const auto& [entry, r] : compiled.entries) {
    for (const std::string& warning : r.warnings)
      text += "warning: " + entry + ": " + warning + "\n";
  }
  return text;
}

std::string triple(const std::int64_t (&v)[3]) {
  return std::to_string(v[0]) + "," + std::to_string(v[1]) + "," + std::to_string(v[2]);
}

std::string launch_text(const LaunchPlan& plan) {
  Table table({{"entry"}, {"grid"}, {"block"}, {"cluster"}, {"dynamic shared", Align::kRight}});
  for (const StagePlan& stage : plan.stages) {
    if (stage.gemm) {
      table.add({describe(*stage.gemm), "-", "-", "-", "-"});
      continue;
    }
    table.add({stage.entry, triple(stage.grid), triple(stage.block), triple(stage.cluster),
               std::to_string(stage.shared_bytes)});
  }
  return table.text();
}

/// What the launch will find on the device, with the compiled registers.
std::string forecast_text(const Forecast& forecast) {
  Table table({{"entry"},
               {"blocks", Align::kRight},
               {"resident a SM", Align::kRight},
               {"bound by"},
               {"occupancy", Align::kRight},
               {"waves", Align::kRight}});
  for (const StageForecast& stage : forecast.stages) {
    table.add({stage.entry, std::to_string(stage.blocks), std::to_string(stage.resident_blocks),
               std::string(stage.bound), percent(stage.occupancy, 0), fixed(stage.waves, 2)});
  }
  return table.text() + fixed(forecast.flops_per_byte, 0) +
         " operations for each byte that the problem must move\n";
}

InspectDocument config_document(const Subject& subject, const LaunchPlan& plan,
                                const Compiled& compiled) {
  InspectDocument document = document_of(subject);
  document.feasible = true;
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
  return document;
}

Result<int> inspect_config(const InspectArgs& args, const Settings& settings,
                           const Subject& subject) {
  const Candidate candidate{subject.kernel, *subject.config, subject.problem};
  FATUNE_TRY(const std::string reason, infeasible_reason(candidate, subject.limits));
  if (!reason.empty()) {
    if (args.common.json) {
      InspectDocument document = document_of(subject);
      document.feasible = false;
      document.reason = reason;
      print_json(to_json(document));
    } else {
      print("infeasible on " + name(subject.limits.arch) + ": " + reason);
    }
    return kAnswerIsNo;
  }
  FATUNE_TRY(const LaunchPlan plan, launch_plan(candidate, subject.limits));
  FATUNE_TRY(CompilePool pool, open_pool(settings));
  FATUNE_TRY(const Compiled compiled, pool.compile(compile_request(candidate, subject.limits)));
  CubinCensus census;
  if (args.census && compiled.ok) census = census_of(compiled.cubin_path, settings);
  if (args.common.json) {
    InspectDocument document = config_document(subject, plan, compiled);
    if (args.census && compiled.ok) document.census = census;
    print_json(to_json(document));
  } else {
    print(subject.kernel->manifest.name + " " + describe(*subject.config) + "\nat " +
          describe(subject.problem) + " on " + name(subject.limits.arch) + "\n\n" +
          launch_text(plan) + "\n" +
          forecast_text(forecast(subject.problem, plan, subject.limits, &compiled)));
    const std::string hopeless = compiled.ok ? hopeless_reason(compiled) : "";
    print(compiled.ok ? "\n" + resources_text(compiled)
                      : "\ncompile_error: " + compiled.problem + "\n" + compiled.log);
    if (!hopeless.empty()) print("a search leaves it out: " + hopeless + "\n");
    if (args.census && compiled.ok) print("\n" + census_text(census));
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

Result<int> inspect_run(const InspectArgs& args) {
  if (args.run.empty()) {
    return usage_error("--importance: name a run's folder, a journal or another tuner's results");
  }
  if (!args.importance) {
    return usage_error("'" + args.run + "' is for --importance; a config is --config FILE");
  }
  if (args.common.json) {
    InspectDocument document;
    document.head = document_head();
    FATUNE_TRY(document.recordings, explained(args.run));
    print_json(to_json(document));
  } else {
    FATUNE_TRY(const std::string text, inspect_importance(args.run));
    print(text);
  }
  return kDone;
}

int run(const InspectArgs& args) {
  auto settings = resolve(args.common);
  if (!settings) return fail(settings.error());
  if (args.importance || !args.run.empty()) {
    auto done = inspect_run(args);
    return done ? *done : fail(done.error());
  }
  auto subject = resolve_subject(args, *settings);
  if (!subject) return fail(subject.error());
  auto code = subject->config ? inspect_config(args, *settings, *subject)
                              : inspect_space(args, *settings, *subject);
  return code ? *code : fail(code.error());
}

OptionTable inspect_table(InspectArgs& a) {
  const OptionTable run = {
      {"Run",
       {{.flags = "RUN",
         .value = &a.run,
         .help = "With --importance: a run's folder, a journal or another tuner's results"},
        {.flags = "--importance",
         .value = &a.importance,
         .help = "Show what each parameter, and each pair, explains of the times in RUN"}}}};
  const OptionTable code = {
      {"Machine code",
       {{.flags = "--arch",
         .value = &a.arch,
         .type = "sm_XX",
         .help = "Architecture instead of the device's"},
        {.flags = "--inert",
         .value = &a.inert,
         .help = "Compile neighbours and show which parameters change nothing"},
        {.flags = "--census",
         .value = &a.census,
         .help = "Count the instructions of a config, by a disassembler; with --kernel, of its "
                 "default config"}}}};
  return tables({run, choice_table(a.choice), code, common_table(a.common)});
}

}  // namespace

Runner setup_inspect(CLI::App& command) {
  auto args = std::make_shared<InspectArgs>();
  add_options(command, inspect_table(*args));
  add_example(command, "fatune inspect --kernel fa_mma --shape 4,8,512,64");
  return [args] { return run(*args); };
}

}  // namespace fatune::cli
