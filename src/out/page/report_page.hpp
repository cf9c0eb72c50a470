// report_page.hpp - the runs of a command line to a web page, or to a folder of pictures.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/json.hpp"
#include "core/result.hpp"
#include "model/results/document.hpp"
#include "out/page/page_run.hpp"

namespace fatune {

/// Each with at least one candidate. `kernels`: only these; one that no run holds is a usage error.
Result<std::vector<PageRun>> load_page_runs(const std::vector<std::string>& paths,
                                            const std::vector<std::string>& kernels, Damage damage);
/// `file`: where the page will lie, so that it can lead to what its runs keep; empty: unknown.
std::string report_page(std::vector<PageRun> runs, const DocumentHead& head,
                        const std::filesystem::path& file);
/// baselines.svg and convergence.svg of each problem; of several, with its name in front.
Status write_plots(const std::vector<PageRun>& runs, const std::filesystem::path& folder);

enum class PageMode {
  kFile,  ///< never asks for anything
  kLive   ///< asks the server that it came from for newer data
};
/// Template, style, scripts, D3 and the page's JSON in one self-contained HTML file. It loads
/// nothing from elsewhere, and says so to the browser (Content-Security-Policy). Whatever the
/// data's strings hold, they stay strings.
std::string page_html(const Json& data, const std::string& title, PageMode mode);

/// A picture that stands alone.
struct Plot {
  std::string name;  ///< "baselines", "convergence"
  std::string svg;
};
/// Those for which there is something to draw: bars need finals, convergence a timed candidate.
std::vector<Plot> plots(const PageProblem& problem, const PageRunHead& run);

}  // namespace fatune
