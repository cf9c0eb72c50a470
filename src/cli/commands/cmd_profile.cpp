// cmd_profile.cpp: Checks and times configs, and reads hardware counters of a launch with ncu.
#include <system_error>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/commands/tools.hpp"
#include "cli/options/session.hpp"
#include "core/fields.hpp"
#include "core/file.hpp"
#include "core/log.hpp"
#include "model/results/journal.hpp"
#include "report/text/kernel_text.hpp"
#include "tune/profile/profile.hpp"

namespace fatune::cli {
namespace {

struct ProfileArgs {
  CommonArgs common;
  ChoiceArgs choice;
  std::string device = "auto";
  std::string out;
};

/// Config after the gates, with facts about its launch.
struct Profiled {
  NamedProblem problem;
  Candidate candidate;
  CandidateRecord record;
  LaunchFacts facts;
  NcuOutcome outcome;
};

/// Runs every gate first, because counters of a wrong kernel explain nothing.
Result<std::vector<Profiled>> evaluate_all(const Session& session) {
  const DeviceLimits& limits = session.evaluator->environment().limits;
  std::vector<Profiled> results;
  for (const Implementation& entry : session.chosen) {
    FATUNE_TRY_STATUS(begin_candidate(entry.candidate, *session.evaluator));
    FATUNE_TRY_STATUS(session.evaluator->submit(entry.candidate));
    FATUNE_TRY(CandidateRecord record, session.evaluator->collect());
    FATUNE_TRY(const LaunchPlan plan, launch_plan(entry.candidate, limits));
    const LaunchFacts facts = launch_facts(plan, record.resources.value_or(Resources{}), limits);
    results.push_back({entry.problem(), entry.candidate, std::move(record), facts, {}});
  }
  return results;
}

bool measured(const Profiled& result) { return result.record.outcome == Outcome::kMeasured; }

std::string outcome_reason(const CandidateRecord& record) {
  const std::string word(name(record.outcome));
  return record.reason.empty() ? word : word + ": " + record.reason;
}

/// Run folder of --out, else of --config; empty if --config belongs to no run.
Result<std::filesystem::path> run_folder(const ProfileArgs& args) {
  std::error_code none;
  if (!args.out.empty()) {
    if (!std::filesystem::is_directory(args.out, none))
      return usage_error(fmt::format(
          "--out {}: there is no such run folder; name a folder that holds a journal", args.out));
    FATUNE_TRY_STATUS(find_results(args.out));
    return std::filesystem::path(args.out);
  }
  if (args.choice.config.empty()) return std::filesystem::path();
  auto folder = std::filesystem::path(args.choice.config).parent_path();
  if (folder.empty()) folder = ".";
  return find_results(folder) ? folder : std::filesystem::path();
}

ProfileDocument document_of(const DocumentHead& head, const std::vector<Profiled>& results,
                            const Environment& environment) {
  ProfileDocument document{head, environment, {}};
  document.head.recorded = environment.recorded;
  for (const Profiled& result : results) {
    const Candidate& candidate = result.candidate;
    document.profiles.push_back({result.problem,
                                 candidate.kernel->manifest.name,
                                 to_json(candidate.config),
                                 result.record.id,
                                 result.record.hot,
                                 {result.facts, result.outcome}});
  }
  return document;
}

/// Reads counters of each measured config. Keeps counters and ncu's report in the run folder.
Status count_all(std::vector<Profiled>& results, const Environment& environment, int device,
                 const std::filesystem::path& run, const Settings& settings) {
  FATUNE_TRY(CompilePool pool, open_pool(settings));
  for (Profiled& result : results) {
    if (!measured(result)) {
      result.outcome = {.reason = outcome_reason(result.record)};
      continue;
    }
    ProfileOptions options{environment.limits, device};
    if (!run.empty()) {
      options.report = kept_profile(run, result.record.id, ".ncu-rep");
      FATUNE_TRY(const Descriptor made,
                 make_folders_below(run, options.report.parent_path().lexically_relative(run)));
      std::error_code ignored;  // ncu would follow a link
      if (std::filesystem::is_symlink(options.report, ignored))
        std::filesystem::remove(options.report, ignored);
    }
    FATUNE_TRY(result.outcome, take_profile(result.candidate, options, pool, settings));
    if (run.empty() || result.outcome.status != ProfileStatus::kProfiled) continue;
    const auto file = kept_profile(run, result.record.id, ".json");
    FATUNE_TRY_STATUS(
        write_below(run, file.lexically_relative(run),
                    dump_pretty(to_json(document_of(settings.head, {result}, environment)))));
    const std::string& report = result.outcome.report;
    log::info("kept " + file.string() + (report.empty() ? "" : " and " + report));
  }
  return {};
}

std::string profiles_text(const std::vector<Profiled>& results, const Paint& paint) {
  std::string text;
  for (const Profiled& result : results) {
    text +=
        paint.fitted(label(result.problem) + ": " + result.candidate.kernel->manifest.name + " " +
                     describe(result.candidate.config) + "\n" + facts_text(result.facts)) +
        "\n" + outcome_text(result.facts, result.outcome, paint) + "\n";
  }
  return text;
}

Result<int> profile(const ProfileArgs& args, const Settings& settings) {
  FATUNE_TRY(const DeviceChoice device, choose_device(args.device));
  FATUNE_TRY(const std::filesystem::path run, run_folder(args));
  FATUNE_TRY(Session session, open_session(args.choice, args.device, settings));
  const Environment environment = session.evaluator->environment();
  FATUNE_TRY(std::vector<Profiled> results, evaluate_all(session));
  if (environment.recorded) {
    for (Profiled& result : results) result.outcome = no_counters();
  } else {
    session.evaluator.reset();  // frees the worker's memory and context before ncu runs
    FATUNE_TRY_STATUS(count_all(results, environment, device.ordinal, run, settings));
  }
  print(settings.json ? dump_pretty(to_json(document_of(settings.head, results, environment)))
                      : session.with_notice(profiles_text(results, settings.paint)));
  for (const Profiled& result : results) {
    if (!environment.recorded && !measured(result)) return kAnswerIsNo;
  }
  return kDone;
}

OptionTable profile_table(ProfileArgs& a) {
  const OptionTable kept = {{"Run",
                             {{"--out", &a.out, "RUN",
                               "Keep the counters, for the run's page, and ncu's report in this "
                               "run folder [the run of --config]"}}}};
  return tables({choice_table(a.choice), device_table(a.device), kept, common_table(a.common)});
}

}  // namespace

Runner setup_profile(CLI::App& command) {
  return make_runner(command, profile_table,
                     "fatune profile --config results/h200/mission/best.json", profile);
}

}  // namespace fatune::cli
