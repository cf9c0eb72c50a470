// cmd_replay.cpp: Runs strategies on recorded data, and prints and draws their scores.
#include <algorithm>
#include <optional>
#include <set>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "core/fields.hpp"
#include "core/file.hpp"
#include "core/log.hpp"
#include "report/text/replay_text.hpp"
#include "search/datasets/spaces.hpp"
#include "search/replay/replay.hpp"
#include "search/strategies/strategy.hpp"

namespace fatune::cli {
namespace {

struct ReplayArgs {
  CommonArgs common;
  std::vector<std::string> files;
  std::vector<std::string> strategies;
  std::string repeats = "100";
  std::string budget = "220";
  std::string batch = "1";
  std::string gpus = "1";
  std::string seed = "42";
  std::string jobs;
  std::string plot;
  std::string space;
  bool one_lever = false;
  bool published = false;
};

constexpr std::int64_t kMostRepeats = 100'000, kMostBudget = 1'000'000, kMostBatch = 1'000;

/// Recording and the name of its rows.
struct NamedRecording {
  std::string file;
  Recording recording;
};

Result<std::uint64_t> parse_count(const std::string& flag, const std::string& text,
                                  std::int64_t most) {
  FATUNE_TRY(const std::int64_t number, whole_number(flag, text, 1, most));
  return static_cast<std::uint64_t>(number);
}

/// Names of all strategies but `exhaustive`, which ignores observations.
std::vector<std::string> default_strategies() {
  std::vector<std::string> names;
  for (const StrategyInfo& info : strategies()) {
    if (info.name != "exhaustive") names.emplace_back(info.name);
  }
  return names;
}

Result<ReplayOptions> options_of(const ReplayArgs& args) {
  ReplayOptions options;
  options.strategies = args.strategies.empty() ? default_strategies() : args.strategies;
  FATUNE_TRY(options.run.repeats, parse_count("--repeats", args.repeats, kMostRepeats));
  FATUNE_TRY(options.run.budget, parse_count("--budget", args.budget, kMostBudget));
  FATUNE_TRY(options.run.batch, parse_count("--batch", args.batch, kMostBatch));
  FATUNE_TRY(options.run.gpus, parse_count("--gpus", args.gpus, kMostBatch));
  FATUNE_TRY(options.run.seed, parse_seed(args.seed));
  FATUNE_TRY(options.run.jobs, parse_jobs(args.jobs));
  options.run.one_lever = args.one_lever;
  options.published_everywhere = args.published;
  for (const std::string& name : options.strategies) {
    const auto all = strategies();
    const bool known = std::any_of(all.begin(), all.end(),
                                   [&](const StrategyInfo& info) { return info.name == name; });
    if (!known) return make_strategy(name, Lattice(), {}).error();
  }
  std::set<std::string> seen;  // a repeated strategy would count twice in the means
  std::erase_if(options.strategies, [&](const auto& name) { return !seen.insert(name).second; });
  return options;
}

/// Name of a row: the file without its folder, and the recording if the file holds several.
std::string row_name(const std::string& where, const std::filesystem::path& path) {
  const auto base = path.has_filename() ? path.filename() : path.parent_path().filename();
  if (!where.starts_with(path.string())) return where;
  return base.string() + where.substr(path.string().size());
}

Result<std::vector<NamedRecording>> read_all(const ReplayArgs& args) {
  std::vector<NamedRecording> all;
  std::optional<Space> space;
  if (!args.space.empty()) {
    FATUNE_TRY(space, read_t1_space(args.space));
  }
  for (const std::string& file : args.files) {
    FATUNE_TRY(std::vector<Recording> recordings, read_recordings(file));
    for (Recording& recording : recordings) {
      if (space) {
        FATUNE_TRY(recording, restrict_to(recording, *space));
      }
      std::string name = row_name(recording.where, file);
      all.push_back({std::move(name), std::move(recording)});
    }
  }
  return all;
}

Result<int> replay_files(const ReplayArgs& args, const Settings& settings) {
  FATUNE_TRY(ReplayOptions options, options_of(args));
  FATUNE_TRY_STATUS(check_files({args.plot}));
  FATUNE_TRY(const std::vector<NamedRecording> recordings, read_all(args));
  std::vector<Replay> replays;
  for (const NamedRecording& each : recordings) {
    options.started = [&](const std::string& strategy) { log::info(each.file + ": " + strategy); };
    FATUNE_TRY(Replay scored, replay(each.recording, each.file, options));
    if (!args.common.json)
      print((replays.empty() ? "" : "\n") + replay_text(scored, settings.paint));
    replays.push_back(std::move(scored));
  }
  if (args.common.json) {
    print(dump_pretty(to_json(ReplayDocument{settings.head, options, replays})));
  } else if (replays.size() > 1) {
    print("\n" + means_text(replays, settings.paint));
  }
  if (!args.plot.empty()) {
    FATUNE_TRY_STATUS(replace_file(args.plot, curves_svg(replays, options.run.budget)));
  }
  int code = kDone;
  for (const Replay& each : replays) {
    if (each.control_holds()) continue;
    log::error(control_failure(each));
    code = kAnswerIsNo;
  }
  return code;
}

OptionTable replay_table(ReplayArgs& a) {
  const OptionTable own = {
      {"Replay",
       {required({"FILE", &a.files, "",
                  "Read recorded data: a journal or run folder, a Kernel Tuner cache, T4 or KTT "
                  "results; plain or .gz"}),
        comma_separated({"--strategy", &a.strategies, "STRATEGY,...",
                         "Score these strategies, comma-separated [all but exhaustive]"}),
        {"--repeats", &a.repeats, "N",
         "Run each strategy this many times, each time with its own seed"},
        {"--budget", &a.budget, "N", "Evaluate this many configs in a run; failed configs count"},
        {"--batch", &a.batch, "N",
         "Keep this many candidates in flight before the first of them is observed"},
        {"--gpus", &a.gpus, "N",
         fmt::format(
             "Take times from N simulated GPUs in turn, of which the slowest takes {:.1f} % longer",
             100 * kGpuSpread)},
        {"--seed", &a.seed, "N", "Seed all runs"},
        {"--space", &a.space, "FILE",
         "Keep only the configs of this T1 file's space, which needs the same parameters"},
        {"--one-lever", &a.one_lever, "", "Change exactly one parameter in each move"},
        {"--published", &a.published, "",
         "Print the published score even where its runs are longer than the budget"},
        {"--plot", &a.plot, "FILE", "Write the curves to this SVG file"},
        {"--jobs", &a.jobs, "N", "Run this many threads [cores]"}}}};
  return tables({own, common_table(a.common)});
}

}  // namespace

Runner setup_replay(CLI::App& command) {
  return make_runner(command, replay_table,
                     "fatune replay configs/recorded/h200-mission.jsonl.gz --strategy ga,random "
                     "--repeats 10",
                     replay_files);
}

}  // namespace fatune::cli
