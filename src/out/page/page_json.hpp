// page_json.hpp - runs to the JSON that their page draws: fatune.page/1.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "core/json.hpp"
#include "model/results/progress.hpp"
#include "out/page/page_run.hpp"

namespace fatune {

enum class Depth {
  kFull,
  kQuick  ///< without what the parameters explain, which costs a second for thousands of candidates
};

/// Times are microseconds with at most five significant digits. Candidates are columns, in the
/// order tried; a config is a row of positions in its kernel's lists of values, -1 where it lacks
/// one.
Json page_json(std::span<const PageRun> runs, Depth depth);

/// The part of it that says how far a running sweep is.
Json live_json(const SweepProgress& progress);

}  // namespace fatune
