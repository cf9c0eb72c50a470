// briefing.hpp - a problem, what was judged on it and what that taught, to a text for a model.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "judge/referee/referee.hpp"

namespace fatune {

/// EvoEngineer's three (arXiv 2510.03760): the task with the best kernel; with insights, too; with
/// more kernels and what failed.
enum class BriefingMode { kFree, kInsight, kFull };

Result<std::string> briefing(BriefingMode mode, const std::string& problem_id,
                             const Referee& referee);

/// One line for each judgement with a thought, the oldest first: what became of it, beside its
/// parent where both have times, and the thought as a quoted text. At most `most`, the newest.
std::vector<std::string> insights_of(const std::vector<JudgedKernel>& judgements,
                                     const std::string& problem_id, std::size_t most);

/// A text of somebody else in a fence that it cannot end.
std::string fenced(std::string_view text, std::string_view language);

}  // namespace fatune
