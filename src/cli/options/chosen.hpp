// chosen.hpp - --config FILE or --kernel NAME, with a problem, turned into candidates to time.
#pragma once

#include <string>
#include <vector>

#include "cli/options/args.hpp"
#include "core/result.hpp"
#include "model/problem/suite.hpp"
#include "tune/evaluate/evaluator.hpp"
#include "tune/sweep/best.hpp"

namespace fatune::cli {

/// The position of the file's config for a problem; a file with one config has it for every
/// problem.
Result<std::size_t> position_for(const std::vector<SavedConfig>& saved, const Problem& problem,
                                 const std::string& file);
/// That config.
Result<SavedConfig> config_for(const std::vector<SavedConfig>& saved, const Problem& problem,
                               const std::string& file);
Result<Implementation> chosen_of(const SavedConfig& entry, const NamedProblem& problem,
                                 const std::string& file, const std::vector<KernelRef>& catalog);

/// One candidate per problem, as a finalist. A file's own problems hold unless --shape or --suite
/// is given; then each problem takes the file's config for it, or the only config of the file.
/// Exactly one of config and kernel must be set. A kernel that cannot do a problem is a usage error
/// with the reason.
Result<std::vector<Implementation>> resolve_choice(const ChoiceArgs& args,
                                                   const std::vector<KernelRef>& catalog);

}  // namespace fatune::cli
