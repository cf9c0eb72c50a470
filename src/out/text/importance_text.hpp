// importance_text.hpp - what the parameters of recorded data explain, as tables.
#pragma once

#include <filesystem>
#include <string>

#include "core/result.hpp"
#include "out/text/paint.hpp"
#include "search/strategies/importance.hpp"

namespace fatune::cli {

enum class ImportanceFormat { kText, kMarkdown };
/// A sentence and a table of the shares of 1 % and more, largest first; only a sentence where too
/// little was measured.
std::string importance_text(const ParameterImportance& importance, ImportanceFormat format,
                            const Paint& paint);

/// `fatune inspect FILE --importance`: of everything that the file or folder of a run holds.
Result<std::string> inspect_importance(const std::filesystem::path& path, const Paint& paint);

}  // namespace fatune::cli
