// cmd_inspect.cpp - prints a kernel's space for a problem, or one config's fate, launch and
// resources.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/commands/cubin_census.hpp"
#include "cli/options/catalog.hpp"
#include "cli/options/chosen.hpp"
#include "core/fields.hpp"
#include "core/text.hpp"
#include "model/space/rules.hpp"
#include "out/text/importance_text.hpp"
#include "out/text/inspect_text.hpp"
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

Json space_json(const Space& space) {
  Json rules = Json::array();
  for (const RuledOut& rule : space.ruled_out()) {
    rules.push_back({{"require", rule.rule}, {"why", rule.why}, {"points", rule.points}});
  }
  Json terms = Json::array();
  for (const Term& term : space.kernel().manifest.terms) {
    terms.push_back({{"name", term.name}, {"value", term.value}, {"meaning", term.meaning}});
  }
  Json result = {{"raw_points", space.raw_size()},
                 {"valid_points", space.size()},
                 {"terms", terms},
                 {"ruled_out", rules}};
  if (auto point = space.default_point()) result["default"] = to_json(space.config(*point));
  return result;
}

Json effects_json(const std::vector<ParameterEffect>& effects) {
  Json rows = Json::array();
  for (const ParameterEffect& effect : effects) {
    rows.push_back({{"parameter", effect.parameter},
                    {"neighbours", effect.neighbours},
                    {"changed", effect.changed},
                    {"inert", effect.inert()},
                    {"same", effect.same}});
  }
  return rows;
}

Result<int> inspect_space(const InspectArgs& args, const Settings& settings,
                          const Subject& subject) {
  FATUNE_TRY(const std::string reason,
             unsupported_reason(subject.kernel->manifest, subject.problem, subject.limits));
  if (!reason.empty()) {
    if (args.common.json) {
      print_json({{"schema", "fatune.inspect/1"},
                  {"kernel", subject.kernel->manifest.name},
                  {"supported", false},
                  {"reason", reason}});
    } else {
      print(settings.paint.fitted(subject.kernel->manifest.name + " cannot do " +
                                  describe(subject.problem) + ": " + reason));
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
    Json result = {{"schema", "fatune.inspect/1"},
                   {"kernel", subject.kernel->manifest.name},
                   {"supported", true},
                   {"arch", name(subject.limits.arch)},
                   {"problem", to_json(subject.problem)},
                   {"space", space_json(space)}};
    if (args.inert) result["parameters"] = effects_json(effects);
    print_json(result);
  } else {
    print(subject.kernel->manifest.name + " at " + describe(subject.problem) + " on " +
          name(subject.limits.arch) + ": " + space_text(space, settings.paint));
    if (args.inert) print("\n" + effects_text(effects, settings.paint));
  }
  return space.size() > 0 ? kDone : kAnswerIsNo;
}

Json config_json(const Subject& subject, const LaunchPlan& plan, const Compiled& compiled) {
  Json entries = Json::object();
  for (const auto& [entry, resources] : compiled.entries) entries[entry] = to_json(resources);
  return {{"schema", "fatune.inspect/1"},
          {"kernel", subject.kernel->manifest.name},
          {"arch", name(subject.limits.arch)},
          {"problem", to_json(subject.problem)},
          {"config", to_json(*subject.config)},
          {"feasible", true},
          {"launch", to_json(plan)},
          {"forecast", to_json(forecast(subject.problem, plan, subject.limits, &compiled))},
          {"compiled", compiled.ok},
          {"compile_problem", compiled.problem},
          {"cubin", compiled.cubin_hash},
          {"entries", entries}};
}

Result<int> inspect_config(const InspectArgs& args, const Settings& settings,
                           const Subject& subject) {
  const Candidate candidate{subject.kernel, *subject.config, subject.problem};
  FATUNE_TRY(const std::string reason, infeasible_reason(candidate, subject.limits));
  if (!reason.empty()) {
    if (args.common.json) {
      print_json({{"schema", "fatune.inspect/1"},
                  {"config", to_json(*subject.config)},
                  {"feasible", false},
                  {"reason", reason}});
    } else {
      print(settings.paint.fitted("infeasible on " + name(subject.limits.arch) + ": " + reason));
    }
    return kAnswerIsNo;
  }
  FATUNE_TRY(const LaunchPlan plan, launch_plan(candidate, subject.limits));
  FATUNE_TRY(CompilePool pool, open_pool(settings));
  FATUNE_TRY(const Compiled compiled, pool.compile(compile_request(candidate, subject.limits)));
  CubinCensus census;
  if (args.census && compiled.ok) census = census_of(compiled.cubin_path, settings);
  if (args.common.json) {
    Json result = config_json(subject, plan, compiled);
    if (args.census && compiled.ok) result["census"] = to_json(census);
    print_json(result);
  } else {
    const Paint& paint = settings.paint;
    print(paint.fitted(fmt::format("{} {}\nat {} on {}\n", subject.kernel->manifest.name,
                                   describe(*subject.config), describe(subject.problem),
                                   name(subject.limits.arch))) +
          "\n" + launch_text(plan, paint) + "\n" +
          forecast_text(forecast(subject.problem, plan, subject.limits, &compiled), paint));
    const std::string hopeless = compiled.ok ? hopeless_reason(compiled) : "";
    print(compiled.ok ? "\n" + resources_text(compiled, settings.paint)
                      : "\ncompile_error: " + compiled.problem + "\n" + compiled.log);
    if (!hopeless.empty()) print(paint.fitted("a search leaves it out: " + hopeless));
    if (args.census && compiled.ok) print("\n" + census_text(census, settings.paint));
  }
  return compiled.ok ? kDone : kAnswerIsNo;
}

Result<int> inspect_run(const InspectArgs& args, const Settings& settings) {
  if (args.run.empty()) {
    return usage_error("--importance: name a run's folder, a journal or another tuner's results");
  }
  if (!args.importance) {
    return usage_error("'" + args.run + "' is for --importance; a config is --config FILE");
  }
  if (args.common.json) {
    FATUNE_TRY(const Json result, inspect_importance_json(args.run));
    print_json(result);
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
         "With --importance: a run's folder, a journal or another tuner's results"},
        {"--importance", &a.importance, "",
         "Show what each parameter, and each pair, explains of the times in RUN"}}}};
  const OptionTable code = {
      {"Machine code",
       {{"--arch", &a.arch, "sm_XX", "Architecture instead of the device's"},
        {"--inert", &a.inert, "", "Compile neighbours and show which parameters change nothing"},
        {"--census", &a.census, "",
         "Count the instructions of a config, by a disassembler; with --kernel, of its "
         "default config"}}}};
  return tables({run, choice_table(a.choice), code, common_table(a.common)});
}

}  // namespace

Runner setup_inspect(CLI::App& command) {
  return make_runner(command, inspect_table, "fatune inspect --kernel fa_mma --shape 4,8,512,64",
                     inspect);
}

}  // namespace fatune::cli
