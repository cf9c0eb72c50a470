// services.hpp: Declares everything that the judge offers: tools, resources, and prompts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "judge/protocol/services.hpp"
#include "judge/referee/referee.hpp"

namespace fatune {

/// The referee must outlive the services.
Services judge_services(Referee& referee);

/// The referee must outlive the tools.
Toolbox judge_tools(Referee& referee);

/// Prompts of EvoEngineer (arXiv 2510.03760). Free has the task and the best kernel. Insight adds
/// insights. Full adds more kernels and failures.
enum class BriefingMode { kFree, kInsight, kFull };

Result<std::string> briefing(BriefingMode mode, const std::string& problem_id,
                             const Referee& referee);

/// Returns one line per judgement that has a thought: the outcome, the speed-up over the parent
/// where both have times, and the quoted thought. Keeps the newest `most` lines, oldest first.
std::vector<std::string> insights_of(const std::vector<JudgedKernel>& judgements,
                                     const std::string& problem_id, std::size_t most);

/// Returns a client's text in a Markdown fence longer than any fence in the text.
std::string fenced(std::string_view text, std::string_view language);

}  // namespace fatune
