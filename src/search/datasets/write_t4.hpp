// write_t4.hpp - a journal's candidates to T4 results 1.0.0.
#pragma once

#include "core/json.hpp"
#include "search/datasets/journal_groups.hpp"

namespace fatune {

/// Times in milliseconds. `invalidity` is the outcome: timeout, compile, runtime, correctness (a
/// wrong result), constraints or correct. `correctness` is 1 when every gate was passed. The
/// journal holds summaries, so `runtimes` is empty and quartiles are measurements.
Json t4_results(const JournalGroup& group, const Journal& journal);

}  // namespace fatune
