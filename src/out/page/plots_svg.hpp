// plots_svg.hpp - a problem's contestants and candidates to pictures that stand alone.
#pragma once

#include <string>
#include <vector>

#include "out/page/page_run.hpp"

namespace fatune {

struct Plot {
  std::string name;  ///< "baselines", "convergence"
  std::string svg;
};

/// Those for which there is something to draw: bars need finals, convergence a timed candidate.
std::vector<Plot> plots(const PageProblem& problem, const JournalHeader& header);

}  // namespace fatune
