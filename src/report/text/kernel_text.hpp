// kernel_text.hpp: Declares tables of a kernel's space, launch, resources, counters and importance.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "model/space/space.hpp"
#include "report/text/layout.hpp"
#include "search/strategies/importance.hpp"
#include "tune/compile/inert.hpp"
#include "tune/evaluate/forecast.hpp"
#include "tune/profile/profile.hpp"
#include "worker/protocol/compilation.hpp"

namespace fatune {

/// Lists parameters with a choice, terms, and the points that each rule excludes.
std::string space_text(const Space& space, const Paint& paint);
std::string effects_text(const std::vector<ParameterEffect>& effects, const Paint& paint);
/// Lists registers, shared memory, spills and warnings of each entry.
std::string resources_text(const Compiled& compiled, const Paint& paint);
std::string launch_text(const LaunchPlan& plan, const Paint& paint);
/// Forecasts the launch's occupancy of the device from the compiled registers.
std::string forecast_text(const Forecast& forecast, const Paint& paint);

/// Returns "256 blocks of 128 threads ..." and the known registers and shared memory.
std::string facts_text(const LaunchFacts& facts);
/// Describes the counters, or the reason for missing counters and the remedy.
std::string outcome_text(const LaunchFacts& facts, const NcuOutcome& outcome, const Paint& paint);

enum class ImportanceFormat { kText, kMarkdown };
/// Returns a sentence, and a table of shares of at least 1 % if enough was measured.
std::string importance_text(const ParameterImportance& importance, ImportanceFormat format,
                            const Paint& paint);
/// Handles `fatune inspect FILE --importance` over all data of a file or a run's folder.
Result<std::string> inspect_importance(const std::filesystem::path& path, const Paint& paint);

}  // namespace fatune
