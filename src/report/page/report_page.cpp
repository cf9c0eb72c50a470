// report_page.cpp: Loads runs, selects kernels, and writes pages and plots.
#include "report/page/report_page.hpp"

#include <algorithm>
#include <set>
#include <string_view>
#include <system_error>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/embedded.hpp"
#include "core/file.hpp"
#include "core/log.hpp"
#include "core/svg.hpp"
#include "core/text.hpp"
#include "model/problem/suite.hpp"
#include "report/page/colours.hpp"
#include "report/page/page_document.hpp"

namespace fatune {
namespace {

std::set<std::string> kernels_of(const std::vector<PageRun>& runs) {
  std::set<std::string> names;
  for (const PageRun& run : runs) {
    for (const PageProblem& problem : run.problems) {
      for (const JournalGroup& group : problem.groups) names.insert(group.kernel);
    }
  }
  return names;
}

Status keep_kernels(std::vector<PageRun>& runs, const std::vector<std::string>& wanted) {
  const std::set<std::string> held = kernels_of(runs);
  for (const std::string& kernel : wanted) {
    if (held.contains(kernel)) continue;
    return usage_error(fmt::format("--kernel: nothing is held of '{}', only of {}", kernel,
                                   fmt::join(held, ", ")));
  }
  for (PageRun& run : runs) {
    for (PageProblem& problem : run.problems) {
      std::erase_if(problem.groups, [&](const JournalGroup& group) {
        return std::ranges::find(wanted, group.kernel) == wanted.end();
      });
    }
    std::erase_if(run.problems, [](const PageProblem& problem) { return problem.groups.empty(); });
  }
  return {};
}

/// Makes a name distinct: runs of two folders may share a name, but plots need two files.
std::string distinct(const std::string& name, std::set<std::string>& taken) {
  std::string free = name;
  for (int number = 2; !taken.insert(free).second; ++number)
    free = fmt::format("{}-{}", name, number);
  return free;
}

constexpr std::string_view kHtml = "src/report/page/html/";
constexpr std::string_view kD3 = "third_party/d3/d3.min.js";
constexpr std::string_view kD3Licence = "third_party/d3/LICENSE";
/// Each script may use the scripts before it.
constexpr const char* kScripts[] = {"model.js",     "frame.js",    "bars.js",   "search.js",
                                    "timeline.js",  "space.js",    "matter.js", "hardware.js",
                                    "table.js",     "overview.js", "code.js",   "compare.js",
                                    "evolution.js", "proof.js",    "page.js"};
constexpr std::string_view kPrivate[] = {"uuid", "host"};  // members that name a machine

std::string_view embedded_text(std::string_view path) {
  for (const EmbeddedFile& file : embedded_page_files()) {
    if (file.path == path) return file.text;
  }
  FATUNE_CHECK(false, "the page's files are embedded when the program is built");
  return {};
}

std::string_view part(const char* name) { return embedded_text(std::string(kHtml) + name); }

/// Defines the CSS variables of both colour schemes.
std::string colour_variables() {
  std::string text = ":root {";
  const auto colours = kernel_colours();
  for (std::size_t i = 0; i < colours.size(); ++i)
    text += fmt::format(" --k{}: light-dark({}, {});", i, colours[i].light, colours[i].dark);
  return text + " }\n";
}

std::string scripts(PageMode mode) {
  std::string text = "<script>";
  text += embedded_text(kD3);
  text += "</script>\n<script>\n'use strict';\n";
  for (const char* name : kScripts) text += part(name);
  if (mode == PageMode::kLive) text += part("live.js");
  return text + "</script>";
}

struct Place {
  std::string_view mark;
  std::string text;
};

/// Fills the template in one pass, so that marks inside inserted text stay text.
std::string fill(std::string_view page, const std::vector<Place>& places) {
  std::string text;
  while (!page.empty()) {
    std::size_t nearest = page.size();
    const Place* next = nullptr;
    for (const Place& place : places) {
      const std::size_t at = page.find(place.mark);
      if (at < nearest) {
        nearest = at;
        next = &place;
      }
    }
    text += page.substr(0, nearest);
    if (next == nullptr) break;
    text += next->text;
    page.remove_prefix(nearest + next->mark.size());
  }
  return text;
}

std::string folder_below(const std::filesystem::path& page, const std::filesystem::path& journal) {
  std::error_code none;
  const auto from = std::filesystem::absolute(page, none).parent_path();
  const auto folder =
      std::filesystem::relative(std::filesystem::absolute(journal, none).parent_path(), from, none);
  return none || folder.empty() || *folder.begin() == ".." ? "" : folder.generic_string();
}

/// Escapes text between tags or in a quoted attribute.
std::string escape_html(const std::string& text) { return svg::escape(text); }

}  // namespace

Result<std::vector<PageRun>> load_page_runs(const std::vector<std::string>& paths,
                                            const std::vector<std::string>& kernels,
                                            Damage damage) {
  std::vector<PageRun> runs;
  for (const std::string& path : paths) {
    FATUNE_TRY(PageRun run, load_page_run(path, damage));
    const auto is_empty = [](const PageProblem& each) { return each.groups.empty(); };
    if (std::ranges::all_of(run.problems, is_empty))
      return file_error(run.source + ": holds no candidate");
    runs.push_back(std::move(run));
  }
  if (!kernels.empty()) FATUNE_TRY_STATUS(keep_kernels(runs, kernels));
  return runs;
}

std::string report_page(std::vector<PageRun> runs, const std::filesystem::path& file) {
  for (PageRun& run : runs) {
    if (!file.empty()) run.folder = folder_below(file, run.source);
  }
  return page_html({{"runs", runs_json(runs, Depth::kFull)}},
                   "fatune: " + join(run_labels(runs), ", "), PageMode::kFile);
}

std::string document_page(Json document, const std::string& title) {
  leave_out(document, kPrivate);
  if (const auto command = document.find("command");
      command != document.end() && command->is_string())
    *command = without_folders(command->get<std::string>());
  return page_html(document, title, PageMode::kFile);
}

std::optional<std::string> proof_page(const std::filesystem::path& file) {
  if (file.extension() != ".json") return {};
  auto proof = load_json(file);
  if (!proof || !proof->is_object() || !proof->contains("schema")) return {};
  if ((*proof)["schema"] != "fatune.proof/1") return {};
  const auto name = Fields(*proof, file.string()).text_or("name", "proof");
  return document_page(*proof, (name ? *name : "proof") + ": fatune");
}

Status write_plots(const std::vector<PageRun>& runs, const std::filesystem::path& folder) {
  std::size_t problems = 0;
  std::set<std::string> written;
  for (const PageRun& run : runs) problems += run.problems.size();
  for (const PageRun& run : runs) {
    for (const PageProblem& problem : run.problems) {
      std::string name = runs.size() > 1 ? file_name(run.name) + "-" : "";
      if (problems > 1) {
        const NamedProblem& named = problem.result.problem;
        name += file_name(named.name.empty() ? slug(named.problem) : named.name) + "-";
      }
      for (const Plot& plot : plots(problem, run)) {
        const std::string file = distinct(name + file_name(plot.name), written) + ".svg";
        FATUNE_TRY_STATUS(write_below(folder, file, plot.svg));
      }
    }
  }
  log::info(fmt::format("wrote {} pictures into {}", written.size(), folder.string()));
  return {};
}

std::string page_html(const Json& data, const std::string& title, PageMode mode) {
  // JSON has "<" in strings only. Escaping it prevents "</script>" and "<!--".
  return fill(part("page.html"),
              {{"{{title}}", escape_html(title)},
               {"{{connect}}", mode == PageMode::kLive ? "'self'" : "'none'"},
               {"{{style}}", colour_variables() + std::string(part("style.css"))},
               {"{{data}}", replaced(printable(dump(data)), "<", "\\u003c")},
               {"{{scripts}}", scripts(mode)},
               {"{{licence}}", escape_html(std::string(embedded_text(kD3Licence)))}});
}

}  // namespace fatune
