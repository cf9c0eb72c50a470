// text.hpp: Declares the report of a run for a terminal.
#pragma once

#include <string>

#include "evolve/report/document.hpp"
#include "report/text/layout.hpp"

namespace fatune {

/// Returns a line such as "t7  elite  1.52x  stage_k: keys through shared memory".
std::string trial_line(const Trial& trial);
std::string evolution_text(const EvolutionDocument& document, const Paint& paint);

}  // namespace fatune
