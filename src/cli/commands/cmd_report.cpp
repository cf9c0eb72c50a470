// cmd_report.cpp: Prints runs as text, Markdown, CSV, JSON, page, pictures or files of other
// tuners.
#include <algorithm>
#include <array>
#include <set>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/commands/tools.hpp"
#include "cli/options/catalog.hpp"
#include "core/fields.hpp"
#include "core/file.hpp"
#include "core/interrupt.hpp"
#include "core/log.hpp"
#include "core/text.hpp"
#include "evolve/report.hpp"
#include "model/results/journal.hpp"
#include "report/page/report_page.hpp"
#include "report/text/report_text.hpp"
#include "report/text/suite_summary.hpp"
#include "report/text/sweep_report.hpp"
#include "search/datasets/journal_dataset.hpp"

namespace fatune::cli {
namespace {

constexpr std::array<const char*, 7> kFormats = {"text", "md", "csv",         "html",
                                                 "svg",  "t4", "kernel-tuner"};

struct ReportArgs {
  CommonArgs common;
  std::vector<std::string> runs;
  std::string format;  ///< empty: by the suffix of `out`, else text
  std::vector<std::string> kernels;
  std::string out;
  bool all = false;
  bool sass = false;
  bool salvage = false;
};

Damage damage_of(const ReportArgs& args) {
  return args.salvage ? Damage::kLeaveOut : Damage::kRefuse;
}

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
    return usage_error(
        "--out " + args.out +
        ": svg is a folder of pictures; add --format svg and name a folder with --out");
  const std::string suffix = std::filesystem::path(args.out).extension().string();
  const bool fits = suffix.empty() || suffix == ".txt" || suffix == "." + format ||
                    (args.common.json && suffix == ".json");
  if (args.format.empty() && !fits) {
    return usage_error(fmt::format(
        "--out {}: no format has the suffix {}; end in .html, .md, .csv or .txt, or add --format",
        args.out, suffix));
  }
  if (args.sass && format != "html")
    return usage_error("--sass puts machine code into a page: name one with --out FILE.html");
  if (format == "svg" && args.out.empty())
    return usage_error("--format svg draws several pictures: name a folder with --out");
  return {};
}

/// Kernels and problems of the journal, or those of --kernel.
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
    return usage_error("--kernel: " + where + " has no results of '" + wanted + "', only of " +
                       join(held, ", "));
  }
  std::erase_if(groups, [&](const JournalGroup& group) {
    const auto& wanted = args.kernels;
    return !wanted.empty() && std::find(wanted.begin(), wanted.end(), group.kernel) == wanted.end();
  });
  return groups;
}

/// Writes a format that holds one kernel and problem a file; several go into a folder.
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
      file /= file_name(group.kernel + "-" + slug(group.problem.problem)) + ".json";
    }
    FATUNE_TRY_STATUS(replace_file(file, text));
    log::info(fmt::format("wrote {}: {} configs", file.string(), group.configs.size()));
  }
  return kDone;
}

Status write_or_print(const std::string& out, const std::string& text) {
  if (out.empty()) {
    print(text);
    return {};
  }
  FATUNE_TRY_STATUS(replace_file(out, text));
  log::info(fmt::format("wrote {} ({})", out, describe(Bytes(text.size()))));
  return {};
}

/// Chosen: about a megabyte of page, or some 35 finalists.
constexpr std::size_t kMaxPageLines = 60'000;

/// Finalist whose machine code is disassembled, and its candidate.
struct Wanted {
  PageRun* run;
  const FinalRecord* final;
  Candidate candidate;
  std::size_t rank;  ///< winners come first, then default configs, then the others
};

Result<std::vector<Wanted>> finalists_of(std::vector<PageRun>& runs, const Settings& settings) {
  FATUNE_TRY(const Catalog catalog, load_catalog(settings));
  std::vector<Wanted> wanted;
  std::set<std::string> foreign;
  for (PageRun& run : runs) {
    for (const PageProblem& problem : run.problems) {
      std::size_t rank = 0;
      for (const FinalRecord& final : problem.result.finals) {
        if (final.is_baseline()) continue;
        const KernelRef kernel = same_kernel(final.kernel, run.header.plan, catalog);
        if (!kernel) {
          foreign.insert(final.kernel);
          continue;
        }
        FATUNE_TRY(Config config, config_from_json(kernel->manifest, final.config, run.source));
        wanted.push_back({&run,
                          &final,
                          {kernel, std::move(config), final.problem},
                          final.role == RowRole::kDefault ? 1 : rank});
        rank += rank == 0 ? 2 : 1;
      }
    }
  }
  for (const std::string& name : foreign) {
    log::warn("--sass leaves out " + name +
              ": its text is not the run's; use the fatune, or the --kernel-dir, of the run");
  }
  std::ranges::stable_sort(wanted, {}, &Wanted::rank);
  return wanted;
}

/// Recorded hash of the candidate's machine code; empty: not recorded.
std::string measured_cubin(const PageRun& run, const std::string& id) {
  for (const PageProblem& problem : run.problems) {
    for (const TriedConfig& each : tried(problem)) {
      if (each.config->record.id == id) return each.config->record.cubin;
    }
  }
  return "";
}

/// Disassembles finalists, after compiling those that the cache lacks.
Status add_code(std::vector<PageRun>& runs, const Settings& settings) {
  FATUNE_TRY(const std::vector<Wanted> wanted, finalists_of(runs, settings));
  if (wanted.empty()) return {};
  FATUNE_TRY(CompilePool pool, open_pool(settings));
  std::vector<Ticket> tickets;
  for (const Wanted& each : wanted) {
    tickets.push_back(
        pool.submit(compile_request(each.candidate, each.run->header.environment.limits)));
  }
  std::size_t lines = 0;
  for (std::size_t i = 0; i < wanted.size() && lines < kMaxPageLines; ++i) {
    const auto& [run, final, candidate, rank] = wanted[i];
    FATUNE_TRY(const Compiled compiled, wait_for(pool, tickets[i]));
    if (!compiled.ok) {
      log::warn(fmt::format("--sass leaves out {}: it does not compile: {}", final->id,
                            compiled.problem));
      continue;
    }
    const auto sass = disassembly_of(compiled.cubin_path, settings);
    if (!sass)
      return environment_error("--sass: " + sass.error().message + "; " + disassembler_remedy());
    const std::string measured = measured_cubin(*run, final->id);
    const bool remade = !measured.empty() && measured != compiled.cubin_hash;
    run->code.push_back({final->id, remade, parse_sass(*sass), sass_lines(*sass)});
    lines += run->code.back().lines.size();
  }
  return {};
}

/// Writes the runs as a page, pictures or a document.
Result<int> show_pages(const ReportArgs& args, const std::string& format,
                       const Settings& settings) {
  FATUNE_TRY(std::vector<PageRun> runs, load_page_runs(args.runs, args.kernels, damage_of(args)));
  if (args.sass) FATUNE_TRY_STATUS(add_code(runs, settings));
  if (settings.json) {
    const Json document = to_json(report_document(runs.front(), settings.head));
    FATUNE_TRY_STATUS(write_or_print(args.out, dump_pretty(document)));
  } else if (format == "svg") {
    FATUNE_TRY_STATUS(write_plots(runs, args.out));
  } else {
    FATUNE_TRY_STATUS(write_or_print(args.out, report_page(std::move(runs), args.out)));
  }
  return kDone;
}

/// Shows a run of `fatune evolve`.
Result<int> show_evolution(const ReportArgs& args, const std::string& format,
                           const Settings& settings) {
  if (args.runs.size() > 1)
    return usage_error("a run of evolve is shown alone; name " + args.runs.front() + " only");
  if (format != "text" && format != "html")
    return usage_error("--format " + format + ": a run of evolve is shown as text or html");
  FATUNE_TRY(Ledger ledger, load_ledger(args.runs.front()));
  const EvolutionDocument document = evolution_document(std::move(ledger), settings.head);
  std::string text = evolution_text(document, settings.paint);
  if (format == "html")
    text = document_page(to_json(document), document.run.header.plan.kernel + ", evolved");
  if (settings.json) text = dump_pretty(to_json(document));
  FATUNE_TRY_STATUS(write_or_print(args.out, text));
  return kDone;
}

/// Shows the page of a proof.
Result<int> show_proof(const ReportArgs& args, const std::string& format, const std::string& page) {
  if (args.runs.size() > 1 || format != "html")
    return usage_error(args.runs.front() + ": a proof is shown alone; add --out FILE.html");
  FATUNE_TRY_STATUS(write_or_print(args.out, page));
  return kDone;
}

Result<int> report(const ReportArgs& args, const Settings& settings) {
  const std::string format = format_of(args);
  FATUNE_TRY_STATUS(check_format(args, format));
  if (!args.sass) end_on_interrupt();
  if (is_evolution(args.runs.front())) return show_evolution(args, format, settings);
  if (const auto page = proof_page(args.runs.front())) return show_proof(args, format, *page);
  if (is_page(format) || settings.json) return show_pages(args, format, settings);
  FATUNE_TRY(const std::filesystem::path file, find_results(args.runs.front()));
  FATUNE_TRY(Journal journal, load_journal(file, damage_of(args)));
  FATUNE_TRY(const std::vector<JournalGroup> groups, choose_groups(args, journal, file.string()));
  if (format == "t4" || format == "kernel-tuner")
    return write_interchange(args, format, groups, journal);
  std::string text = report_text(groups, journal, format, settings.paint);
  if (format != "csv" && args.kernels.empty()) {
    FATUNE_TRY(PageRun run, page_run_of(std::move(journal), file));
    const SuiteFinals finals(run);
    if (format == "text" && !args.all && !finals.problems.empty()) {
      text = sweep_report(sweep_result_of(std::move(run)), settings.paint);
    } else {
      text += suite_summary(finals, format, settings.paint);
    }
  }
  FATUNE_TRY_STATUS(write_or_print(args.out, text));
  return kDone;
}

OptionTable report_table(ReportArgs& a) {
  const std::vector<std::string> formats(kFormats.begin(), kFormats.end());
  const OptionTable own = {
      {"Report",
       {required(
            {"RUN", &a.runs, "", "Show a run, journal or proof.json; html and svg take several"}),
        {"--format", &a.format, join(formats, "|"),
         "Write text, md, csv, html (one page), svg (a folder of pictures), t4 (T4 results) or "
         "kernel-tuner (a cache file to simulate on) [by the suffix of "
         "--out, else text]"},
        comma_separated(
            {"--kernel", &a.kernels, "KERNEL,...", "Show only these kernels, comma-separated"}),
        {"-o,--out", &a.out, "PATH",
         "Write to this file. svg, and t4 and kernel-tuner with several problems, write to this "
         "folder"},
        {"--all", &a.all, "",
         "As text, show the search in place of its result: the best configs of each kernel, and "
         "what the parameters explain"},
        {"--sass", &a.sass, "",
         "Add the finalists' disassembled machine code to the page, for comparison; compile it "
         "again where the cache lacks it"},
        {"--salvage", &a.salvage, "",
         "Leave out the damaged lines of a journal, and report their number"}}}};
  return tables({own, common_table(a.common)});
}

}  // namespace

Runner setup_report(CLI::App& command) {
  return make_runner(command, report_table, "fatune report results/h200/mission -o report.html",
                     report);
}

}  // namespace fatune::cli
