// kernel_text.hpp - a kernel's space, a config's launch, resources and counters, and what the
// parameters of recorded data explain, as tables.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "model/space/space.hpp"
#include "out/text/layout.hpp"
#include "search/strategies/importance.hpp"
#include "tune/compile/inert.hpp"
#include "tune/evaluate/forecast.hpp"
#include "tune/profile/profile.hpp"
#include "worker/protocol/compilation.hpp"

namespace fatune {

/// Parameters with a choice, terms, and what each rule leaves out.
std::string space_text(const Space& space, const Paint& paint);
std::string effects_text(const std::vector<ParameterEffect>& effects, const Paint& paint);
/// Registers, shared memory, spills and warnings of each entry.
std::string resources_text(const Compiled& compiled, const Paint& paint);
std::string launch_text(const LaunchPlan& plan, const Paint& paint);
/// What the launch will find on the device, with the compiled registers.
std::string forecast_text(const Forecast& forecast, const Paint& paint);

/// "256 blocks of 128 threads ...", and what is known of registers and shared memory.
std::string facts_text(const LaunchFacts& facts);
/// The reading of the counters, or why there is none and what helps.
std::string outcome_text(const LaunchFacts& facts, const NcuOutcome& outcome, const Paint& paint);

enum class ImportanceFormat { kText, kMarkdown };
/// A sentence and a table of the shares of 1 % and more, largest first; only a sentence where too
/// little was measured.
std::string importance_text(const ParameterImportance& importance, ImportanceFormat format,
                            const Paint& paint);
/// `fatune inspect FILE --importance`: of everything that the file or folder of a run holds.
Result<std::string> inspect_importance(const std::filesystem::path& path, const Paint& paint);

}  // namespace fatune
