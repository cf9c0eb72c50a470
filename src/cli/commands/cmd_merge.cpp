// cmd_merge.cpp: Merges the runs of a plan's shards into one run.
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "core/fields.hpp"
#include "core/log.hpp"
#include "core/text.hpp"
#include "report/text/layout.hpp"
#include "tune/sweep/shard_runs.hpp"

namespace fatune::cli {
namespace {

struct MergeArgs {
  CommonArgs common;
  std::vector<std::string> runs;
  std::string out;
  bool partial = false;
};

OptionTable merge_table(MergeArgs& a) {
  const OptionTable own = {
      {"Merge",
       {required({"RUN", &a.runs, "", "Merge these runs of shards, each a folder or a journal"}),
        required({"-o,--out", &a.out, "DIR",
                  "Write the merged run to this folder, which holds no run yet"}),
        {"--partial", &a.partial, "",
         "Merge although shards are missing or unfinished; `fatune resume` runs the rest"}}}};
  return tables({own, common_table(a.common)});
}

/// Device and architecture: "NVIDIA H200 (sm_90a, recorded)".
std::string device_line(const Environment& environment) {
  return fmt::format("{} ({}{})", environment.device_name, name(environment.limits.arch),
                     environment.recorded ? ", recorded" : "");
}

std::string merge_text(const std::vector<ShardRun>& runs, const Journal& merged,
                       const BestFile& best, const std::string& out, const Paint& paint) {
  Table table({">shard", ">problems", ">with a result", ">lines", "ended", {"GPU", 1}, "run"});
  for (const ShardRun& run : runs) {
    const Environment& environment = run.journal.header.environment;
    table.add({describe(run.shard()), std::to_string(run.shard().problems.size()),
               std::to_string(run.best ? run.best->problems.size() : 0),
               std::to_string(run.journal.records.size() + 1), run.complete() ? "yes" : "no",
               environment.device_uuid, run.file});
  }
  std::string text = fmt::format(
      "{} of {} problems on {}\n\n{}\n", best.problems.size(), merged.header.plan.problems.size(),
      device_line(merged.header.environment), table.text(paint.columns()));
  if (!best.problems.empty())
    text += "Best:    " + (std::filesystem::path(out) / "best.json").string() + "\n";
  return text + "Journal: " + (std::filesystem::path(out) / "journal.jsonl").string() + "\n";
}

Result<int> merge(const MergeArgs& args, const Settings& settings) {
  FATUNE_TRY(const std::vector<ShardRun> runs,
             load_shard_runs({args.runs.begin(), args.runs.end()}));
  const std::vector<std::string> lacks = lacking(runs);
  if (!lacks.empty() && !args.partial)
    return usage_error(join(lacks, "; ") + "; --partial merges the given shards");
  FATUNE_TRY(const Journal merged, merge_journals(runs));
  FATUNE_TRY(const BestFile best, merge_best(runs, merged));
  FATUNE_TRY_STATUS(save_merged(merged, best, args.out, local_time()));
  print(settings.json ? dump_pretty(to_json(best))
                      : merge_text(runs, merged, best, args.out, settings.paint));
  for (const std::string& each : lacks) log::warn(each);
  if (!lacks.empty()) {
    log::warn("a part is merged; run the rest with: fatune resume " + shell_word(args.out));
  }
  return kDone;
}

}  // namespace

Runner setup_merge(CLI::App& command) {
  return make_runner(command, merge_table,
                     "fatune sweep --suite mission --shard 1/2 --out runs/shard-1\n"
                     "  fatune sweep --suite mission --shard 2/2 --out runs/shard-2\n"
                     "  fatune merge runs/shard-1 runs/shard-2 -o runs/merged",
                     merge);
}

}  // namespace fatune::cli
