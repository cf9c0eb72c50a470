// problems.hpp - --shape, --suite and their companions turned into named problems; with --config
// FILE or
// --kernel NAME, into candidates to time.
#pragma once

#include <string>
#include <vector>

#include "cli/options/option_table.hpp"
#include "core/result.hpp"
#include "model/kernel/operation.hpp"
#include "model/problem/suite.hpp"
#include "tune/evaluate/evaluator.hpp"
#include "tune/sweep/best.hpp"

namespace fatune::cli {

/// At least one problem; those of --shape and --size have no name. Errors name the flag. Without
/// any it is a usage error with an example. `operation`: what the kernels in question compute.
Result<std::vector<NamedProblem>> resolve_problems(const ProblemArgs& args,
                                                   const OperationRef& operation = attention());
/// Whether a problem is given at all.
bool names_problem(const ProblemArgs& args);
/// A usage error for --causal and the like, which say what --shape or --size leaves open, where
/// `source`, "--suite mission" say, gives whole problems.
Status refuse_companions(const ProblemArgs& args, const std::string& source);
/// Of the built-in suites.
std::vector<std::string> suite_names();
/// Loads a built-in suite or a file of fatune.problems/1. A task of another benchmark is a usage
/// error that names the command which imports it.
Result<Suite> load_suite(const std::string& name_or_file);

/// The position of the file's config for a problem; a file with one config has it for every
/// problem.
Result<std::size_t> position_for(const std::vector<SavedConfig>& saved, const Problem& problem,
                                 const std::string& file);

/// A config of a file, by its position, for a problem.
struct ConfigUse {
  std::size_t position = 0;
  NamedProblem problem;
};
/// A file's own problems hold unless --shape or --suite is given; then each problem takes the
/// file's config for it, or the only config of the file.
Result<std::vector<ConfigUse>> config_uses(const std::vector<SavedConfig>& saved,
                                           const ProblemArgs& args, const std::string& file,
                                           const std::vector<KernelRef>& catalog);
Result<Implementation> chosen_of(const SavedConfig& entry, const NamedProblem& problem,
                                 const std::string& file, const std::vector<KernelRef>& catalog);

/// One candidate per problem, as a finalist. Exactly one of config and kernel must be set.
Result<std::vector<Implementation>> resolve_choice(const ChoiceArgs& args,
                                                   const std::vector<KernelRef>& catalog);

}  // namespace fatune::cli
