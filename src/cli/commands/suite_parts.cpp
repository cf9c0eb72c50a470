// suite_parts.cpp - deals a suite's problems as parts, tells what becomes of them, merges them.
#include "cli/commands/suite_parts.hpp"

#include <algorithm>
#include <map>
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
#include "out/text/suite_summary.hpp"
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
    if (!event.member->left_out && left_out_.erase(event.member->name) > 0)
      log::info(where + "what failed on it fails elsewhere, too; it goes on");
    switch (event.kind) {
      case FleetEvent::Kind::kBegins:
        return log::info(where + part.label());
      case FleetEvent::Kind::kRuns:
        return log::info(where + event.said);
      case FleetEvent::Kind::kEnds:
        return log::info(fmt::format("{}{} ended after {:.0f} s; {} of {}", where, part.label(),
                                     event.part_s, ++ended_, parts_.size()));
      case FleetEvent::Kind::kFails:
        log::warn(fmt::format("{}{}: {}", where, part.label(), event.said));
        if (event.member->left_out && left_out_.insert(event.member->name).second)
          log::warn(where + "two problems in a row failed; it is left out");
    }
  }

 private:
  const std::vector<Part>& parts_;
  std::size_t ended_ = 0;
  std::set<std::string> left_out_;  ///< names of members
};

std::string devices_text(const FleetTimeline& timeline, const Paint& paint) {
  Table table({"device", ">problems", ">busy s", ">of the time"});
  for (const FleetWorker& each : timeline.workers) {
    const double share = timeline.seconds > 0 ? each.busy_s() / timeline.seconds : 0;
    const auto ended = std::ranges::count_if(
        each.work, [](const WorkStretch& stretch) { return !stretch.failed && !stretch.again; });
    table.add({each.name, std::to_string(ended), fmt::format("{:.1f}", each.busy_s()),
               fmt::format("{:.0f} %", 100 * share)});
  }
  return table.text(paint.columns());
}

std::string again(const SuiteRun& suite) {
  return "the same command with --out " + shell_word(suite.out.string()) + " sweeps the rest";
}

/// Of a fleet that ran the open parts, after those before it.
void add_work(const FleetResult& fleet, const std::vector<Part>& open, FleetTimeline& timeline) {
  timeline.workers.resize(std::max(timeline.workers.size(), fleet.members.size()));
  for (std::size_t i = 0; i < fleet.members.size(); ++i) {
    FleetWorker& worker = timeline.workers[i];
    worker.name = fleet.members[i].name;
    for (const FleetStretch& each : fleet.members[i].work) {
      const Part& part = open[each.part];
      worker.work.push_back({part.problem, !part.searched.empty(), !each.ended,
                             timeline.seconds + each.begin_s, timeline.seconds + each.end_s});
    }
  }
  timeline.seconds += fleet.seconds;
}

}  // namespace

Result<FleetResult> run_parts(SuiteRun& suite, FleetCrew& crew, FleetClock& clock) {
  FleetOptions options;
  for (const Part& part : suite.open) options.costs.push_back(part.cost);
  Reporter reporter(suite.open);
  options.on_event = [&](const FleetEvent& event) {
    reporter(event);
  };
  auto fleet = run_fleet(options, crew, clock);
  if (!fleet && fleet.error().kind == ErrorKind::kInterrupted)
    return Error(ErrorKind::kInterrupted, "interrupted; " + again(suite));
  if (fleet) add_work(*fleet, suite.open, suite.timeline);
  return fleet;
}

namespace {

std::vector<std::filesystem::path> folders_of(const std::vector<Part>& parts) {
  std::vector<std::filesystem::path> folders;
  for (const Part& part : parts) folders.push_back(part.folder);
  return folders;
}

Status print_suite(const SuiteRun& suite, const JournalHeader& header, const BestFile& best,
                   const Settings& settings) {
  FATUNE_TRY(const PageRun run, load_page_run(suite.out));
  std::string text = fmt::format("{} on {}\n\n", counted(suite.parts.size(), "problem"),
                                 device_text(header.environment));
  text += devices_text(suite.timeline, settings.paint) +
          suite_summary(SuiteFinals(run), "text", settings.paint) + "\n";
  if (!best.problems.empty())
    text += fmt::format("Best:    {}\n", (suite.out / "best.json").string());
  print(text + fmt::format("Journal: {}\n", (suite.out / "journal.jsonl").string()));
  return {};
}

/// No, which it says, when no problem has a best.
int answer(const SuiteRun& suite, const BestFile& best) {
  const auto found = [](const BestProblem& problem) { return problem.best.has_value(); };
  if (std::ranges::any_of(best.problems, found)) return kDone;
  log::error(
      best.device->recorded
          ? "the recording holds no measured candidate of these kernels for these problems"
          : "no candidate of any problem passed every gate; what became of them: fatune report " +
                shell_word(suite.out.string()));
  return kAnswerIsNo;
}

/// Of all parts, which have ended.
Result<int> merge_parts(const SuiteRun& suite, const Settings& settings) {
  FATUNE_TRY(const std::vector<ShardRun> runs, load_shard_runs(folders_of(suite.parts)));
  FATUNE_TRY(Journal merged, merge_journals(runs));
  FATUNE_TRY(BestFile best, merge_best(runs, merged));
  best.ranks = suite.ranks;
  best.fleet = suite.timeline;
  FATUNE_TRY_STATUS(save_merged(merged, best, suite.out, local_time()));
  if (settings.json) {
    print(dump_pretty(to_json(best)));
  } else {
    FATUNE_TRY_STATUS(print_suite(suite, merged.header, best, settings));
  }
  return answer(suite, best);
}

Status check_unmerged(const std::filesystem::path& out) {
  if (!std::filesystem::exists(out / "journal.jsonl")) return {};
  return file_error(out.string() + ": holds a run already; choose another --out");
}

/// What has begun of the parts, of this plan's only.
Status check_plans(const std::vector<Part>& parts, const RunPlan& plan) {
  RunPlan own = plan;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    FATUNE_TRY(const std::string journal, journal_so_far(parts[i].folder));
    if (journal.empty()) continue;
    const std::string where = (parts[i].folder / "journal.jsonl").string();
    FATUNE_TRY(const Journal begun,
               parse_journal(journal.substr(0, journal.find('\n') + 1), where));
    own.shard = Shard{.number = i + 1, .of = parts.size()};
    const std::string differs = difference(begun.header.plan, own);
    if (differs.empty()) continue;
    return usage_error(where + " is of another plan: " + differs +
                       "; give the options that it began with, or choose another --out");
  }
  return {};
}

}  // namespace

/// A new folder of that name; of NAME-2, NAME-3 where other runs of the same second are.
Result<std::filesystem::path> make_run_folder(const std::filesystem::path& wanted) {
  FATUNE_TRY_STATUS(make_directories(wanted.parent_path()));
  std::filesystem::path folder = wanted;
  std::error_code failure;
  for (int number = 2; !std::filesystem::create_directory(folder, failure); ++number) {
    if (failure) {
      return file_error(
          fmt::format("{}: cannot create this folder: {}", folder.string(), failure.message()));
    }
    folder = fmt::format("{}-{}", wanted.string(), number);
  }
  return folder;
}

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
  if (!args.arch.empty()) return usage_error(who + ": --arch is for --compile-only; GPUs know it");
  if (args.finals) return usage_error(who + ": --finals goes with --resume, on one");
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
    words.finals = !part.searched.empty();
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

Result<SuiteRun> begin_suite(const PlannedSuite& planned, const SweepArgs& args) {
  SuiteRun suite{.parts = {}, .open = {}, .out = planned.out, .command = planned.plan.command};
  FATUNE_TRY(suite.parts, parts_of(planned.plan, suite.out));
  if (args.out.empty()) {
    FATUNE_TRY(suite.out, make_run_folder(planned.out));
    FATUNE_TRY(suite.parts, parts_of(planned.plan, suite.out));
  }
  FATUNE_TRY_STATUS(check_unmerged(suite.out));
  FATUNE_TRY(suite.lock, lock_parts(suite.out));
  FATUNE_TRY_STATUS(check_unmerged(suite.out));  // by one that held the lock until now
  FATUNE_TRY_STATUS(check_plans(suite.parts, planned.plan));
  FATUNE_TRY(suite.open, open_parts(suite.parts));
  return suite;
}

Result<int> finish_suite(const SuiteRun& suite, const FleetResult& fleet,
                         const Settings& settings) {
  if (fleet.failed.empty()) return merge_parts(suite, settings);
  for (const FailedPart& each : fleet.failed)
    log::error(suite.open[each.part].label() + ": " + each.reason);
  return device_error(fmt::format("{} of {} could not be swept; {}", fleet.failed.size(),
                                  counted(suite.parts.size(), "problem"), again(suite)));
}

}  // namespace fatune::cli
