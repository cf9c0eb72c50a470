// tools.hpp - the judge's verbs, each with its schemas, in one table for every dialect.
#pragma once

#include "judge/protocol/tool.hpp"
#include "judge/referee/problem_book.hpp"

namespace fatune {

/// `problems` outlives the tools.
Toolbox judge_tools(const ProblemBook& problems);

}  // namespace fatune
