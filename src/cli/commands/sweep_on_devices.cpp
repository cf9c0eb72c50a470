// sweep_on_devices.cpp - deals a suite's problems to processes, tells what they do, merges them.
#include "cli/commands/sweep_on_devices.hpp"

#include <algorithm>
#include <set>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/options/shard.hpp"
#include "core/fields.hpp"
#include "core/file.hpp"
#include "core/log.hpp"
#include "core/text.hpp"
#include "out/text/cells.hpp"
#include "out/text/layout.hpp"
#include "out/text/report_text.hpp"
#include "tune/sweep/fleet.hpp"
#include "tune/sweep/merge.hpp"

namespace fatune::cli {
namespace {

constexpr std::size_t kMostJobs = 16;  // of a sweep, as without --jobs

/// A problem as a shard of its own.
struct Part {
  std::string shard;  ///< "3/12"
  std::string label;
  double cost = 1;
  std::filesystem::path folder, log;
};

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

bool has_journal(const Part& part) {
  return std::filesystem::exists(part.folder / "journal.jsonl");
}

Result<bool> has_ended(const Part& part) {
  if (!has_journal(part)) return false;
  FATUNE_TRY(const auto runs, load_shard_runs({part.folder}));
  return runs.front().complete();
}

/// Compile processes of each sweep: those of --jobs, or the cores, in equal shares.
Result<std::size_t> jobs_of_each(const SweepArgs& args, std::size_t devices) {
  FATUNE_TRY(std::size_t jobs, parse_jobs(args.jobs));
  if (jobs == 0) {
    const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
    return std::clamp<std::size_t>(cores / devices, 1, kMostJobs);
  }
  return std::max<std::size_t>(jobs / devices, 1);
}

/// A new run of the part, or its run resumed.
ChildCommand command_of(const Part& part, const std::string& device, std::size_t jobs,
                        SweepArgs args) {
  if (has_journal(part)) {
    SweepArgs resumed;
    resumed.common = std::move(args.common);
    resumed.resume = part.folder.string();
    args = std::move(resumed);
  } else {
    args.out = part.folder.string();
    args.shard = part.shard;
  }
  args.device = device;
  args.jobs = std::to_string(jobs);
  args.common.json = args.common.quiet = false;
  args.common.verbose = 0;
  const std::set<std::string> typed =
      args.resume.empty() ? args.common.typed : std::set<std::string>();
  ChildCommand command{.program = executable_path(), .arguments = {"sweep"}};
  const auto words = option_words(sweep_table, args, typed);
  command.arguments.insert(command.arguments.end(), words.begin(), words.end());
  command.extra_environment = {"NO_COLOR=1", fmt::format("COLUMNS={}", kUsualColumns)};
  command.stderr_file = part.log;
  return command;
}

/// The last line that a part's process wrote; empty when it wrote none.
std::string last_line(const Part& part) {
  const auto text = read_file(part.log);
  if (!text) return "";
  const std::string_view lines = trim(*text);
  return printable(lines.substr(lines.rfind('\n') + 1));
}

/// The process's own words for its error, else how it ended.
std::string reason_of(const Part& part, const ChildEnd& end) {
  constexpr std::string_view kError = "fatune: error: ";
  const std::string line = last_line(part);
  if (line.starts_with(kError)) return line.substr(kError.size());
  return fmt::format("its process ended: {}; see {}", describe(end), part.log.string());
}

class Reporter {
 public:
  explicit Reporter(const std::vector<Part>& parts) : parts_(parts) {}

  void operator()(const FleetEvent& event) {
    const Part& part = parts_[event.part];
    const std::string where = event.member->device + ": ";
    switch (event.kind) {
      case FleetEvent::Kind::kBegins:
        return log::info(where + part.label);
      case FleetEvent::Kind::kRuns:
        return log::info(where + last_line(part));
      case FleetEvent::Kind::kEnds:
        return log::info(fmt::format("{}{} ended after {:.0f} s; {} of {}", where, part.label,
                                     event.part_s, ++ended_, parts_.size()));
      case FleetEvent::Kind::kFails:
        log::warn(fmt::format("{}{}: {}", where, part.label, event.reason));
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
    table.add({each.device, std::to_string(each.parts), fmt::format("{:.1f}", each.busy_s),
               fmt::format("{:.0f} %", 100 * share)});
  }
  return table.text(paint.columns());
}

/// Of all parts, which have ended.
Result<int> merge_parts(const std::vector<Part>& parts, const FleetResult& fleet,
                        const std::filesystem::path& out, const Settings& settings) {
  std::vector<std::filesystem::path> folders;
  for (const Part& part : parts) folders.push_back(part.folder);
  FATUNE_TRY(const std::vector<ShardRun> runs, load_shard_runs(folders));
  FATUNE_TRY(const Journal merged, merge_journals(runs));
  FATUNE_TRY(const BestFile best, merge_best(runs, merged));
  FATUNE_TRY_STATUS(save_merged(merged, best, out, local_time()));
  if (settings.json) {
    print(dump_pretty(to_json(best)));
    return kDone;
  }
  FATUNE_TRY(const PageRun run, load_page_run(out));
  const std::string headline = fmt::format("{} on {}\n\n", counted(parts.size(), "problem"),
                                           device_text(merged.header.environment));
  print(headline + devices_text(fleet, settings.paint) +
        suite_summary(run, "text", settings.paint) +
        fmt::format("\nBest:    {}\nJournal: {}\n", (out / "best.json").string(),
                    (out / "journal.jsonl").string()));
  return kDone;
}

/// Those that have not ended yet.
Result<std::vector<Part>> open_parts(const std::vector<Part>& parts) {
  std::vector<Part> open;
  for (const Part& part : parts) {
    FATUNE_TRY(const bool ended, has_ended(part));
    if (!ended) open.push_back(part);
  }
  return open;
}

FleetOptions fleet_of(const std::vector<std::string>& devices, const std::vector<Part>& open,
                      std::size_t jobs, const SweepArgs& args) {
  FleetOptions options;
  options.devices = devices;
  for (const Part& part : open) options.costs.push_back(part.cost);
  options.command = [&open, &args, jobs](std::size_t part, const std::string& device) {
    return command_of(open[part], device, jobs, args);
  };
  options.reason = [&open](std::size_t part, const ChildEnd& end) {
    return reason_of(open[part], end);
  };
  options.on_event = Reporter(open);
  return options;
}

}  // namespace

Status check_several_devices(const SweepArgs& args) {
  const std::string several = "--device names several: ";
  if (!args.resume.empty()) {
    return usage_error(several + "give the command again, with --out " + args.resume +
                       ": problems that ended are not swept again");
  }
  if (!args.shard.empty()) return usage_error(several + "they are all of one run; --shard is not");
  if (args.compile_only) return usage_error(several + "--compile-only runs nothing on them");
  if (args.sanitize) return usage_error(several + "--sanitize goes with one");
  if (args.serve) return usage_error(several + "--serve shows one sweep");
  return {};
}

Result<int> sweep_on_devices(const std::vector<std::string>& devices, const RunPlan& plan,
                             const SweepArgs& args, const std::filesystem::path& out,
                             const Settings& settings) {
  if (plan.problems.size() < 2) {
    return usage_error(
        "--device names several, and there is one problem: its candidates are measured on one GPU");
  }
  if (std::filesystem::exists(out / "journal.jsonl"))
    return file_error(out.string() + ": holds a run already; choose another --out");
  FATUNE_TRY(const auto parts, parts_of(plan, out));
  FATUNE_TRY(const auto open, open_parts(parts));
  FATUNE_TRY(const std::size_t jobs, jobs_of_each(args, devices.size()));
  FATUNE_TRY_STATUS(make_directories(out / "parts"));
  log::info(fmt::format("{}{} for {}, {} each", counted(open.size(), "problem"),
                        open.size() < parts.size() ? " left" : "", join(devices, ", "),
                        counted(jobs, "compile job")));
  const FleetOptions options = fleet_of(devices, open, jobs, args);
  auto fleet = run_fleet(options);
  const std::string again =
      "the same command with --out " + shell_word(out.string()) + " sweeps the rest";
  if (!fleet && fleet.error().kind == ErrorKind::kInterrupted)
    return Error(ErrorKind::kInterrupted, "interrupted; " + again);
  if (!fleet) return std::move(fleet).error();
  if (fleet->failed.empty()) return merge_parts(parts, *fleet, out, settings);
  for (const FailedPart& each : fleet->failed)
    log::error(open[each.part].label + ": " + each.reason);
  return device_error(fmt::format("{} of {} could not be swept; {}", fleet->failed.size(),
                                  counted(parts.size(), "problem"), again));
}

}  // namespace fatune::cli
