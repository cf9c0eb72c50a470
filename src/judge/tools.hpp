// tools.hpp - the judge's verbs, each with its schemas, in one table for every dialect.
#pragma once

#include "judge/protocol/tool.hpp"
#include "judge/referee/referee.hpp"

namespace fatune {

/// The referee outlives the tools.
Toolbox judge_tools(Referee& referee);

}  // namespace fatune
