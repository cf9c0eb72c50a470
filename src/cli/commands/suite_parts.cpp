// suite_parts.cpp - deals a suite's problems as parts, tells what becomes of them, merges them.
#include "cli/commands/suite_parts.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/options/ranks.hpp"
#include "cli/options/shard.hpp"
#include "core/fields.hpp"
#include "core/file.hpp"
#include "core/log.hpp"
#include "core/text.hpp"
#include "out/text/cells.hpp"
#include "out/text/layout.hpp"
#include "out/text/report_text.hpp"
#include "tune/fleet/part_folder.hpp"
#include "tune/sweep/merge.hpp"

namespace fatune::cli {
namespace {

constexpr std::size_t kMostJobs = 16;  // of a sweep, as without --jobs

class Reporter {
 public:
  explicit Reporter(const std::vector<Part>& parts) : parts_(parts) {}

  void operator()(const FleetEvent& event) {
    const Part& part = parts_[event.part];
    const std::string where = event.member->name + ": ";
    switch (event.kind) {
      case FleetEvent::Kind::kBegins:
        return log::info(where + part.label);
      case FleetEvent::Kind::kRuns:
        return log::info(where + event.said);
      case FleetEvent::Kind::kEnds:
        return log::info(fmt::format("{}{} ended after {:.0f} s; {} of {}", where, part.label,
                                     event.part_s, ++ended_, parts_.size()));
      case FleetEvent::Kind::kFails:
        log::warn(fmt::format("{}{}: {}", where, part.label, event.said));
        if (event.member->left_out)
          log::warn(where + "two problems in a row failed; it is left out");
    }
  }

 private:
  const std::vector<Part>& parts_;
  std::size_t ended_ = 0;
};

std::string devices_text(const FleetResult& fleet, const Paint& paint) {
  Table table({"device", ">problems", ">busy s", ">of the time"});
  for (const FleetMember& each : fleet.members) {
    const double share = fleet.seconds > 0 ? each.busy_s / fleet.seconds : 0;
    table.add({each.name, std::to_string(each.parts), fmt::format("{:.1f}", each.busy_s),
               fmt::format("{:.0f} %", 100 * share)});
  }
  return table.text(paint.columns());
}

/// Of all parts, which have ended.
Result<int> merge_parts(const SuiteRun& suite, const FleetResult& fleet, const Settings& settings) {
  const std::vector<Part>& parts = suite.parts;
  std::vector<std::filesystem::path> folders;
  for (const Part& part : parts) folders.push_back(part.folder);
  FATUNE_TRY(const std::vector<ShardRun> runs, load_shard_runs(folders));
  FATUNE_TRY(const Journal merged, merge_journals(runs));
  FATUNE_TRY(BestFile best, merge_best(runs, merged));
  best.ranks = suite.ranks;
  FATUNE_TRY_STATUS(save_merged(merged, best, suite.out, local_time()));
  if (settings.json) {
    print(dump_pretty(to_json(best)));
    return kDone;
  }
  FATUNE_TRY(const PageRun run, load_page_run(suite.out));
  const std::string headline = fmt::format("{} on {}\n\n", counted(parts.size(), "problem"),
                                           device_text(merged.header.environment));
  print(headline + devices_text(fleet, settings.paint) +
        suite_summary(run, "text", settings.paint) +
        fmt::format("\nBest:    {}\nJournal: {}\n", (suite.out / "best.json").string(),
                    (suite.out / "journal.jsonl").string()));
  return kDone;
}

std::string again(const SuiteRun& suite) {
  return "the same command with --out " + shell_word(suite.out.string()) + " sweeps the rest";
}

}  // namespace

Result<std::vector<Part>> parts_of(const RunPlan& plan, const std::filesystem::path& out) {
  std::vector<Part> parts;
  const std::size_t count = plan.problems.size();
  for (std::size_t number = 1; number <= count; ++number) {
    const std::string words = fmt::format("{}/{}", number, count);
    auto shard = resolve_shard(words, plan);
    if (!shard) return with_context(std::move(shard).error(), "dealing problems to devices");
    const NamedProblem& named = plan.problems[(*shard)->problems.front()];
    const auto folder = out / "parts" / fmt::format("{:0{}}", number, std::to_string(count).size());
    parts.push_back(
        {words, label(named), estimated_cost(named.problem), folder, folder.string() + ".log"});
  }
  return parts;
}

Result<std::vector<Part>> open_parts(const std::vector<Part>& parts) {
  std::vector<Part> open;
  for (const Part& part : parts) {
    FATUNE_TRY(const bool ended, part_has_ended(part.folder));
    if (!ended) open.push_back(part);
  }
  return open;
}

Status check_several_devices(const SweepArgs& args, const std::string& who) {
  if (!args.resume.empty()) {
    return usage_error(who + ": give the command again, with --out " + args.resume +
                       ": problems that ended are not swept again");
  }
  if (!args.shard.empty()) return usage_error(who + ": they are all of one run; --shard is not");
  if (args.compile_only) return usage_error(who + ": --compile-only runs nothing on them");
  if (args.sanitize) return usage_error(who + ": --sanitize goes with one");
  if (args.serve) return usage_error(who + ": --serve shows one sweep");
  return {};
}

Result<std::size_t> jobs_of_each(const SweepArgs& args, std::size_t sweeps, std::size_t cores) {
  FATUNE_TRY(std::size_t jobs, parse_jobs(args.jobs));
  if (jobs == 0) return std::clamp<std::size_t>(cores / sweeps, 1, kMostJobs);
  return std::max<std::size_t>(jobs / sweeps, 1);
}

std::vector<std::string> part_words(const Part& part, const SweepArgs& args, bool resumed) {
  SweepArgs words;
  if (resumed) {
    words.common = args.common;
    words.common.typed.clear();
  } else {
    words = args;
    words.out.clear();
    words.shard = part.shard;
  }
  words.device = SweepArgs().device;
  words.jobs.clear();
  words.common.json = words.common.quiet = false;
  words.common.verbose = 0;
  std::set<std::string> typed = words.common.typed;
  for (const char* flag : {"--out", "--device", "--jobs"}) typed.erase(flag);
  return option_words(sweep_table, words, typed);
}

ChildCommand part_command(const std::vector<std::string>& words, const PartPlace& place) {
  ChildCommand command{.program = executable_path(), .arguments = {"sweep"}};
  command.arguments.insert(command.arguments.end(), words.begin(), words.end());
  for (const std::string& word :
       {std::string(place.resumed ? "--resume" : "--out"), place.folder.string(),
        std::string("--device"), place.device, std::string("--jobs"), std::to_string(place.jobs)})
    command.arguments.push_back(word);
  command.extra_environment = {"NO_COLOR=1", fmt::format("COLUMNS={}", kUsualColumns)};
  // Whatever launched this process launched one, as far as the part is concerned.
  for (const char* count : kRankCounts)
    command.extra_environment.push_back(count + std::string("=1"));
  command.extra_environment.push_back(fmt::format("{}={}", kRemoteJobs, place.remote_jobs));
  command.stderr_file = place.log;
  return command;
}

Result<ChildCommand> command_of(const Part& part, const PartResources& resources,
                                const SweepArgs& args) {
  // Nothing but a header that was cut off ends a sweep that is resumed: it begins anew.
  FATUNE_TRY(const std::string journal, journal_so_far(part.folder));
  const bool resumed = !journal.empty();
  std::error_code none;
  if (!resumed) std::filesystem::remove(part.folder / "journal.jsonl", none);
  return part_command(
      part_words(part, args, resumed),
      {part.folder, part.log, resources.device, resources.jobs, resumed, resources.remote_jobs});
}

Result<SuiteRun> begin_suite(const PlannedSuite& planned) {
  const std::filesystem::path& out = planned.out;
  if (std::filesystem::exists(out / "journal.jsonl"))
    return file_error(out.string() + ": holds a run already; choose another --out");
  SuiteRun suite{.parts = {}, .open = {}, .out = out};
  FATUNE_TRY(suite.parts, parts_of(planned.plan, out));
  FATUNE_TRY(suite.open, open_parts(suite.parts));
  FATUNE_TRY_STATUS(make_directories(out / "parts"));
  return suite;
}

Result<FleetResult> run_open_parts(const SuiteRun& suite, FleetCrew& crew, FleetClock& clock) {
  FleetOptions options;
  for (const Part& part : suite.open) options.costs.push_back(part.cost);
  options.on_event = Reporter(suite.open);
  auto fleet = run_fleet(options, crew, clock);
  if (!fleet && fleet.error().kind == ErrorKind::kInterrupted)
    return Error(ErrorKind::kInterrupted, "interrupted; " + again(suite));
  return fleet;
}

Result<int> finish_suite(const SuiteRun& suite, const FleetResult& fleet,
                         const Settings& settings) {
  if (fleet.failed.empty()) return merge_parts(suite, fleet, settings);
  for (const FailedPart& each : fleet.failed)
    log::error(suite.open[each.part].label + ": " + each.reason);
  return device_error(fmt::format("{} of {} could not be swept; {}", fleet.failed.size(),
                                  counted(suite.parts.size(), "problem"), again(suite)));
}

}  // namespace fatune::cli
