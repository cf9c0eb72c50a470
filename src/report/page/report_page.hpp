// report_page.hpp: Turns the runs of a command line into a web page or a folder of plots.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/json.hpp"
#include "core/result.hpp"
#include "report/page/page_run.hpp"

namespace fatune {

/// Loads runs with candidates, of `kernels` only. An unknown kernel is a usage error.
Result<std::vector<PageRun>> load_page_runs(const std::vector<std::string>& paths,
                                            const std::vector<std::string>& kernels, Damage damage);
/// `file` is the page's location, for links to files of the runs; empty if unknown.
std::string report_page(std::vector<PageRun> runs, const std::filesystem::path& file);
/// Draws a document with a page of its own: fatune.evolution/1 or fatune.proof/1.
std::string document_page(Json document, const std::string& title);
/// Returns the page of a proof.json, which python/fatune/optimizing.py writes; empty for other
/// files.
std::optional<std::string> proof_page(const std::filesystem::path& file);
/// Writes baselines.svg and convergence.svg per problem, prefixed by its name if there are several.
Status write_plots(const std::vector<PageRun>& runs, const std::filesystem::path& folder);

enum class PageMode {
  kFile,  ///< loads no data
  kLive   ///< polls its server for newer data
};
/// Builds one self-contained HTML file of template, style, scripts, D3 and data. A
/// Content-Security-Policy forbids loading from elsewhere. Strings in the data stay strings.
std::string page_html(const Json& data, const std::string& title, PageMode mode);

/// A stand-alone plot.
struct Plot {
  std::string name;  ///< "baselines", "convergence"
  std::string svg;
};
/// Returns the plots that have data: bars need finals, convergence needs a timed candidate.
std::vector<Plot> plots(const PageProblem& problem, const PageRunHead& run);

}  // namespace fatune
