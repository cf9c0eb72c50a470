// candidates_json.hpp - a problem's candidates to columns, its kernels to parameters and shares.
#pragma once

#include "out/page/page_json.hpp"

namespace fatune {

/// Adds "kernels", "reasons" and "candidates" to `object`.
void add_candidates(const PageProblem& problem, const JournalHeader& header, Depth depth,
                    Json& object);

}  // namespace fatune
