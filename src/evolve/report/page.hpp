// page.hpp: Declares the self-contained HTML page of a run.
#pragma once

#include <string>

#include "evolve/report/document.hpp"

namespace fatune {

/// Shows curves, the lineage as a tree with diffs, and the final rounds.
std::string evolution_page(const EvolutionDocument& document);

}  // namespace fatune
