// page_document.hpp: Builds the JSON that a page draws: records as journals and best.json have
// them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/json.hpp"
#include "model/results/sweep_result.hpp"
#include "report/page/page_run.hpp"

namespace fatune {

enum class Depth {
  kFull,
  kQuick  ///< omits parameter importance, which takes a second for thousands of candidates
};

/// Returns the runs as an array. A problem has its finals, its candidates as columns, and facts
/// that scripts cannot compute, such as floors. Floating-point numbers are rounded, because a page
/// shows few digits; members that no chart draws or that name a machine are left out.
Json runs_json(std::span<const PageRun> runs, Depth depth);
/// Returns the progress of a running sweep, for a page that follows it.
Json live_json(const SweepProgress& progress, bool finished);

/// Writes records as columns by JSON pointer: {"count":2,"columns":{"/hot/median_us":[12.5,null]}}.
/// null stands for a missing member. A column of one value is {"all":value}. A column of texts
/// that repeat is {"values":[...],"at":[...]}, with -1 for a missing member.
Json columns_of(const std::vector<Json>& records);
/// Rounds to six significant digits, and large numbers to hundredths; infinity and NaN give 0.
double rounded(double value);
/// Removes the folders of absolute paths, because a page is sent to others.
std::string without_folders(const std::string& text);
/// Removes the members of these names from the object and from its member objects, but for configs.
void leave_out(Json& object, std::span<const std::string_view> names);

}  // namespace fatune
