// page.hpp - a run's document to one HTML page that needs nothing else.
#pragma once

#include <string>

#include "evolve/report/document.hpp"

namespace fatune {

/// Curves, the lineage as a tree with diffs, the rounds at the end; in light and dark, on a phone.
std::string evolution_page(const EvolutionDocument& document);

}  // namespace fatune
