// cmd_report.cpp - a run's journal as text, Markdown, CSV, JSON, T4 results or Kernel Tuner caches.
#include "cli/cmd_report.hpp"

#include <algorithm>
#include <array>
#include <memory>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "base/file.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "cli/exit_code.hpp"
#include "cli/output.hpp"
#include "cli/problems.hpp"
#include "cli/report_text.hpp"
#include "cli/with_settings.hpp"
#include "recording/recording.hpp"
#include "recording/write_kernel_tuner.hpp"
#include "recording/write_t4.hpp"

namespace fatune::cli {
namespace {

constexpr std::array<const char*, 5> kFormats = {"text", "md", "csv", "t4", "kernel-tuner"};

struct ReportArgs {
  CommonArgs common;
  std::string run;
  std::string format = "text";
  std::vector<std::string> kernels;
  std::string out;
};

bool is_interchange(const std::string& format) {
  return format == "t4" || format == "kernel-tuner";
}

Status check_format(const ReportArgs& args) {
  const std::vector<std::string> known(kFormats.begin(), kFormats.end());
  if (std::find(known.begin(), known.end(), args.format) == known.end()) {
    const auto nearest = nearest_name(args.format, known);
    return usage_error("--format: '" + args.format + "' is not one of " + join(known, ", ") +
                       (nearest ? "; did you mean " + *nearest + "?" : ""));
  }
  if (args.common.json && args.format != "text")
    return usage_error("--json and --format exclude each other");
  return {};
}

/// The journal's kernels and problems, or those of --kernel.
Result<std::vector<JournalGroup>> choose_groups(const ReportArgs& args, const Journal& journal,
                                                const std::string& where) {
  std::vector<JournalGroup> groups = group_candidates(journal);
  std::vector<std::string> held;
  for (const JournalGroup& group : groups) {
    if (std::find(held.begin(), held.end(), group.kernel) == held.end())
      held.push_back(group.kernel);
  }
  if (groups.empty()) return file_error(where + ": holds no candidate");
  for (const std::string& wanted : args.kernels) {
    if (std::find(held.begin(), held.end(), wanted) != held.end()) continue;
    return usage_error("--kernel: " + where + " holds nothing of '" + wanted + "', only of " +
                       join(held, ", "));
  }
  std::erase_if(groups, [&](const JournalGroup& group) {
    const auto& wanted = args.kernels;
    return !wanted.empty() && std::find(wanted.begin(), wanted.end(), group.kernel) == wanted.end();
  });
  return groups;
}

Result<std::string> interchange(const std::string& format, const JournalGroup& group,
                                const Journal& journal) {
  if (format == "kernel-tuner") return kernel_tuner_cache(group, journal);
  return dump_pretty(t4_results(group, journal));
}

/// These formats hold one kernel and problem each: several go into a folder.
Result<int> write_interchange(const ReportArgs& args, const std::vector<JournalGroup>& groups,
                              const Journal& journal) {
  if (args.out.empty() && groups.size() > 1) {
    std::vector<std::string> names;
    for (const JournalGroup& group : groups)
      names.push_back(group.kernel + " " + describe(group.problem));
    return usage_error(
        "a " + args.format + " file holds one kernel and problem, this run has several (" +
        join(names, "; ") + "): choose one with --kernel, or name a folder with --out");
  }
  for (const JournalGroup& group : groups) {
    FATUNE_TRY(const std::string text, interchange(args.format, group, journal));
    if (args.out.empty()) {
      print(text);
      continue;
    }
    std::filesystem::path file = args.out;
    if (groups.size() > 1) {
      FATUNE_TRY_STATUS(make_directories(file));
      file /= group.kernel + "-" + slug(group.problem.problem) + ".json";
    }
    FATUNE_TRY_STATUS(replace_file(file, text));
    log::info("wrote " + file.string() + ": " + std::to_string(group.configs.size()) + " configs");
  }
  return kDone;
}

Result<int> report(const ReportArgs& args, const Settings& settings) {
  FATUNE_TRY_STATUS(check_format(args));
  FATUNE_TRY(const std::filesystem::path file, find_results(args.run));
  FATUNE_TRY(const Journal journal, load_journal(file));
  FATUNE_TRY(const std::vector<JournalGroup> groups, choose_groups(args, journal, file.string()));
  if (is_interchange(args.format)) return write_interchange(args, groups, journal);
  if (settings.json) {
    print_json(report_json(groups, journal));
    return kDone;
  }
  const std::string text = report_text(groups, journal, args.format);
  if (args.out.empty()) {
    print(text);
  } else {
    FATUNE_TRY_STATUS(replace_file(args.out, text));
  }
  return kDone;
}

}  // namespace

Runner setup_report(CLI::App& command) {
  auto args = std::make_shared<ReportArgs>();
  command.add_option("RUN", args->run, "A run's folder, or a journal")->required();
  command
      .add_option("--format", args->format,
                  "text, md, csv; t4 (T4 results), kernel-tuner (a cache file it can simulate on)")
      ->type_name(join(std::vector<std::string>(kFormats.begin(), kFormats.end()), "|"))
      ->capture_default_str();
  command.add_option("--kernel", args->kernels, "Only these kernels, comma-separated")
      ->delimiter(',')
      ->type_name("KERNEL,...");
  command
      .add_option("--out", args->out,
                  "Write to this file; t4 and kernel-tuner of several problems: to this folder")
      ->type_name("PATH");
  add_common_options(command, args->common);
  add_example(command, "fatune report runs/mission --format t4 --out mission.t4.json");
  return [args] {
    return with_settings(args->common,
                         [&](const Settings& settings) { return report(*args, settings); });
  };
}

}  // namespace fatune::cli
