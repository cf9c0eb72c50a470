// report_page.cpp - loads runs, keeps the kernels asked for, and writes what shows them.
#include "out/page/report_page.hpp"

#include <algorithm>
#include <set>

#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "core/file.hpp"
#include "core/log.hpp"
#include "core/text.hpp"
#include "model/problem/suite.hpp"
#include "out/page/document.hpp"
#include "out/page/page_json.hpp"
#include "out/page/plots_svg.hpp"

namespace fatune::cli {
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
    return usage_error("--kernel: nothing is held of '" + kernel + "', only of " +
                       join(std::vector<std::string>(held.begin(), held.end()), ", "));
  }
  for (PageRun& run : runs) {
    for (PageProblem& problem : run.problems) {
      std::erase_if(problem.groups, [&](const JournalGroup& group) {
        return std::find(wanted.begin(), wanted.end(), group.kernel) == wanted.end();
      });
    }
    std::erase_if(run.problems, [](const PageProblem& problem) { return problem.groups.empty(); });
  }
  return {};
}

std::string title_of(const std::vector<PageRun>& runs) {
  std::vector<std::string> names;
  for (const PageRun& run : runs) names.push_back(run.name);
  return "fatune: " + join(names, ", ");
}

/// Runs of two folders may share their name, and a picture must not replace another.
std::string distinct(const std::string& name, std::set<std::string>& taken) {
  std::string free = name;
  for (int number = 2; !taken.insert(free).second; ++number)
    free = name + "-" + std::to_string(number);
  return free;
}

}  // namespace

Result<std::vector<PageRun>> load_page_runs(const std::vector<std::string>& paths,
                                            const std::vector<std::string>& kernels) {
  std::vector<PageRun> runs;
  for (const std::string& path : paths) {
    FATUNE_TRY(PageRun run, load_page_run(path));
    const bool any = std::any_of(run.problems.begin(), run.problems.end(),
                                 [](const PageProblem& each) { return !each.groups.empty(); });
    if (!any) return file_error(run.source + ": holds no candidate");
    runs.push_back(std::move(run));
  }
  if (!kernels.empty()) FATUNE_TRY_STATUS(keep_kernels(runs, kernels));
  return runs;
}

std::string report_page(const std::vector<PageRun>& runs, const DocumentHead& head) {
  return page_html(to_json(page_document(runs, Depth::kFull, head)), title_of(runs),
                   PageMode::kFile);
}

Status write_plots(const std::vector<PageRun>& runs, const std::filesystem::path& folder) {
  FATUNE_TRY_STATUS(make_directories(folder));
  std::size_t problems = 0;
  std::set<std::string> written;
  for (const PageRun& run : runs) problems += run.problems.size();
  for (const PageRun& run : runs) {
    for (const PageProblem& problem : run.problems) {
      std::string name = runs.size() > 1 ? run.name + "-" : "";
      if (problems > 1) {
        const NamedProblem& named = problem.result.problem;
        name += (named.name.empty() ? slug(named.problem) : named.name) + "-";
      }
      for (const Plot& plot : plots(problem, run.header)) {
        const std::string file = distinct(name + plot.name, written) + ".svg";
        FATUNE_TRY_STATUS(replace_file(folder / file, plot.svg));
      }
    }
  }
  log::info("wrote " + std::to_string(written.size()) + " pictures into " + folder.string());
  return {};
}

}  // namespace fatune::cli
