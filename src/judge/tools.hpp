// tools.hpp: Declares the judge's tools with their schemas, in one table for every dialect.
#pragma once

#include "judge/protocol/tool.hpp"
#include "judge/referee/referee.hpp"

namespace fatune {

/// The referee must outlive the tools.
Toolbox judge_tools(Referee& referee);

}  // namespace fatune
