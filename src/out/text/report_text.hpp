// report_text.hpp - what a journal holds of each kernel and problem, as tables and as JSON.
#pragma once

#include <string>
#include <vector>

#include "core/json.hpp"
#include "search/datasets/journal_dataset.hpp"
#include "out/text/paint.hpp"

namespace fatune::cli {

/// `format`: "text" has outcomes and the ten best of each group, "md" and "csv" every candidate;
/// "text" and "md" also what the parameters explain.
std::string report_text(const std::vector<JournalGroup>& groups, const Journal& journal,
                        const std::string& format, const Paint& paint);
/// fatune.report/1
Json report_json(const std::vector<JournalGroup>& groups, const Journal& journal);

}  // namespace fatune::cli
