// cmd_report.cpp - runs as text, Markdown, CSV, JSON, a web page, pictures, or files of other
// tuners.
#include <algorithm>
#include <array>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/options/problems.hpp"
#include "core/fields.hpp"
#include "core/file.hpp"
#include "core/log.hpp"
#include "core/text.hpp"
#include "out/page/report_page.hpp"
#include "out/text/report_text.hpp"
#include "search/datasets/journal_dataset.hpp"
#include "search/datasets/recording.hpp"

namespace fatune::cli {
namespace {

constexpr std::array<const char*, 7> kFormats = {"text", "md", "csv",         "html",
                                                 "svg",  "t4", "kernel-tuner"};

struct ReportArgs {
  CommonArgs common;
  std::vector<std::string> runs;
  std::string format;  ///< empty: what the suffix of `out` says, else text
  std::vector<std::string> kernels;
  std::string out;
};

bool is_page(const std::string& format) { return format == "html" || format == "svg"; }

std::string format_of(const ReportArgs& args) {
  if (!args.format.empty()) return args.format;
  const std::string suffix = std::filesystem::path(args.out).extension().string();
  for (const char* format : {"html", "md", "csv"}) {
    if (suffix == std::string(".") + format) return format;
  }
  return "text";
}

Status check_format(const ReportArgs& args, const std::string& format) {
  const std::vector<std::string> known(kFormats.begin(), kFormats.end());
  if (std::find(known.begin(), known.end(), format) == known.end()) {
    return usage_error("--format: '" + format + "' is not one of " + join(known, ", ") +
                       nearest_hint(format, known, "; did you mean {}?"));
  }
  if (args.common.json && format != "text")
    return usage_error("--json and --format " + format + " exclude each other");
  if (args.runs.size() > 1 && !is_page(format)) {
    return usage_error(fmt::format(
        "{} shows one run, {} are named: name one, or compare them with --out FILE.html",
        args.common.json ? "--json" : "--format " + format, args.runs.size()));
  }
  if (args.format.empty() && std::filesystem::path(args.out).extension() == ".svg")
    return usage_error("--out " + args.out +
                       ": several pictures are drawn, not one file; say --format svg and name a "
                       "folder with --out");
  if (format == "svg" && args.out.empty())
    return usage_error("--format svg draws several pictures: name a folder with --out");
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

/// These formats hold one kernel and problem each: several go into a folder.
Result<int> write_interchange(const ReportArgs& args, const std::string& format,
                              const std::vector<JournalGroup>& groups, const Journal& journal) {
  if (args.out.empty() && groups.size() > 1) {
    std::vector<std::string> names;
    for (const JournalGroup& group : groups)
      names.push_back(group.kernel + " " + describe(group.problem));
    return usage_error(
        "a " + format + " file holds one kernel and problem, this run has several (" +
        join(names, "; ") + "): choose one with --kernel, or name a folder with --out");
  }
  if (groups.size() > 1 && std::filesystem::path(args.out).extension() == ".json") {
    return usage_error(fmt::format(
        "--out {}: a {} file holds one kernel and problem, this run has {}; choose one with "
        "--kernel, or name a folder",
        args.out, format, groups.size()));
  }
  for (const JournalGroup& group : groups) {
    std::string text;
    if (format == "t4") {
      text = dump_pretty(t4_results(group, journal));
    } else {
      FATUNE_TRY(text, kernel_tuner_cache(group, journal));
    }
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
    log::info(fmt::format("wrote {}: {} configs", file.string(), group.configs.size()));
  }
  return kDone;
}

Status write_or_print(const std::string& out, const std::string& text) {
  if (!out.empty()) return replace_file(out, text);
  print(text);
  return {};
}

/// What the records of a run add up to: a page, pictures, a document.
Result<int> show_pages(const ReportArgs& args, const std::string& format,
                       const Settings& settings) {
  FATUNE_TRY(const std::vector<PageRun> runs, load_page_runs(args.runs, args.kernels));
  if (settings.json) {
    const Json document = to_json(report_document(runs.front(), settings.head));
    FATUNE_TRY_STATUS(write_or_print(args.out, dump_pretty(document)));
  } else if (format == "svg") {
    FATUNE_TRY_STATUS(write_plots(runs, args.out));
  } else {
    FATUNE_TRY_STATUS(write_or_print(args.out, report_page(runs, settings.head)));
  }
  return kDone;
}

Result<int> report(const ReportArgs& args, const Settings& settings) {
  const std::string format = format_of(args);
  FATUNE_TRY_STATUS(check_format(args, format));
  if (is_page(format) || settings.json) return show_pages(args, format, settings);
  FATUNE_TRY(const std::filesystem::path file, find_results(args.runs.front()));
  FATUNE_TRY(const Journal journal, load_journal(file));
  FATUNE_TRY(const std::vector<JournalGroup> groups, choose_groups(args, journal, file.string()));
  if (format == "t4" || format == "kernel-tuner")
    return write_interchange(args, format, groups, journal);
  FATUNE_TRY_STATUS(write_or_print(args.out, report_text(groups, journal, format, settings.paint)));
  return kDone;
}

OptionTable report_table(ReportArgs& a) {
  const std::vector<std::string> formats(kFormats.begin(), kFormats.end());
  const OptionTable own = {
      {"Report",
       {required({"RUN", &a.runs, "", "A run's folder, or a journal; html and svg take several"}),
        {"--format", &a.format, join(formats, "|"),
         "text, md, csv; html (one page, opens anywhere), svg (a folder of pictures); t4 "
         "(T4 results), kernel-tuner (a cache file it can simulate on) [by the suffix of "
         "--out, else text]"},
        comma_separated(
            {"--kernel", &a.kernels, "KERNEL,...", "Only these kernels, comma-separated"}),
        {"-o,--out", &a.out, "PATH",
         "Write to this file; svg, and t4 and kernel-tuner of several problems: to this "
         "folder"}}}};
  return tables({own, common_table(a.common)});
}

}  // namespace

Runner setup_report(CLI::App& command) {
  return make_runner(command, report_table, "fatune report runs/mission -o report.html", report);
}

}  // namespace fatune::cli
