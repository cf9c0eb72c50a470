// report_page.hpp - the runs of a command line to a web page, or to a folder of pictures.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "model/results/document.hpp"
#include "out/page/page_run.hpp"

namespace fatune::cli {

/// Each with at least one candidate. `kernels`: only these; one that no run holds is a usage error.
Result<std::vector<PageRun>> load_page_runs(const std::vector<std::string>& paths,
                                            const std::vector<std::string>& kernels);
std::string report_page(const std::vector<PageRun>& runs, const DocumentHead& head);
/// baselines.svg and convergence.svg of each problem; of several, with its name in front.
Status write_plots(const std::vector<PageRun>& runs, const std::filesystem::path& folder);

}  // namespace fatune::cli
