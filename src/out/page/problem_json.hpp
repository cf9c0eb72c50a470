// problem_json.hpp - one problem of a run to the JSON of its page.
#pragma once

#include "out/page/page_json.hpp"

namespace fatune {

Json problem_json(const PageProblem& problem, const JournalHeader& header, Depth depth);

}  // namespace fatune
