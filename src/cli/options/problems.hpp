// problems.hpp: Resolves --shape, --suite, --config and --kernel into named problems and
// candidates.
#pragma once

#include <string>
#include <vector>

#include "cli/options/catalog.hpp"
#include "cli/options/option_table.hpp"
#include "core/result.hpp"
#include "model/kernel/operation.hpp"
#include "model/problem/suite.hpp"
#include "tune/evaluate/evaluator.hpp"
#include "tune/sweep/best.hpp"

namespace fatune::cli {

/// Returns at least one problem; problems of --shape and --size have no name. A missing problem is
/// a usage error with an example. `operation` is the operation of the kernels.
Result<std::vector<NamedProblem>> resolve_problems(const ProblemArgs& args,
                                                   const OperationRef& operation = attention());
/// Whether an option names a problem.
bool names_problem(const ProblemArgs& args);
/// Refuses --causal and similar options beside `source`, such as "--suite mission", which defines
/// whole problems.
Status refuse_companions(const ProblemArgs& args, const std::string& source);
/// Names of the built-in suites.
std::vector<std::string> suite_names();
/// Loads a built-in suite or a file of fatune.problems/1. For a task of another benchmark, the
/// usage error names the command that imports it.
Result<Suite> load_suite(const std::string& name_or_file);

/// Position of the file's config for a problem. The config of a file with one config fits every
/// problem.
Result<std::size_t> position_for(const std::vector<SavedConfig>& saved, const Problem& problem,
                                 const std::string& file);

/// Position of a config in a file, and the problem that uses it.
struct ConfigUse {
  std::size_t position = 0;
  NamedProblem problem;
};
/// Takes the file's own problems without --shape or --suite. Otherwise each problem takes the
/// file's config for it, or the only config.
Result<std::vector<ConfigUse>> config_uses(const std::vector<SavedConfig>& saved,
                                           const ProblemArgs& args, const std::string& file,
                                           const Catalog& catalog);
Result<Implementation> chosen_of(const SavedConfig& entry, const NamedProblem& problem,
                                 const std::string& file, const Catalog& catalog);

/// Returns one finalist per problem. Exactly one of config and kernel must be set.
Result<std::vector<Implementation>> resolve_choice(const ChoiceArgs& args, const Catalog& catalog);

}  // namespace fatune::cli
